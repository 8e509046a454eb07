(* What is accepted of the network as it runs, on attributes that are moved within ranges, is true of every execution. *)
From Coq Require Import ZArith QArith Qabs Qpower List Bool Lia Lqa.
From Verified Require Import Spec Sums Tables Rules Integers Steps Checker Trees Forward Units Leaf Sound Floats Edges EdgesSound Ranges RangesSound Roundings
  RoundedRow Arranged Deployed ComputedRow DeployedRows ArrangedSound DeployedSound
  DeployedVerified DeployedRanges.
Import ListNotations.
Open Scope Z_scope.

Lemma knows_below D V pre : forall net known w t, knows_units D V (pre ++ net) known w -> nth_error known (length pre) = Some t -> net <> [] ->
  forall n i b, In (i, b) (combine (ids (match rev pre with l :: _ => inputs l | [] => w end)) (get t n)) -> within D b (zvalue (dilate D net) V n i).
Proof.
  induction pre as [|a pre IH]; intros net known w t K E NE n i b I.
  - destruct known as [|t' known]; [discriminate E|]. injection E as ->. destruct net as [|l below]; [contradiction|]. destruct K as [K _]. exact (K n i b I).
  - destruct known as [|t' known]; [discriminate E|]. destruct K as [_ K]. apply (IH net known (inputs a) t K E NE n i b). cbn [rev] in I.
    destruct (rev pre); exact I.
Qed.

Section Attack.
  Variables (A : arithmetic) (base : Z) (P : problem) (V : zrows) (moves : spans) (z below : network Z) (l0 : layer Z).
  Variables (D : Z) (C : list flip) (V' : zrows) (X : rows).
  Hypothesis PRECISION : (2 <= precision A)%Z.
  Hypothesis BASE : (0 <= base)%Z.
  Hypothesis NET : z = l0 :: below.
  Hypothesis HD : 0 < D.
  Hypothesis MADE : made_by D P moves (unmoved V) C V'.
  Hypothesis TIMES : times base D V' X.

  Lemma rational_value net s' qn n i : scaled_at base s' qn net ->
    (Int (zvalue (dilate D net) V' n i) == Int D * (2 ^ shift_of base s' * preactivation qn X n i))%Q.
  Proof.
    intros SC. destruct (scaled_at_scaled base s' qn net SC) as (c & E & S). destruct (scaled_dilate D (2 ^ base) c qn net HD S) as (c' & E' & S').
    rewrite (scaled_value _ c' qn _ V' X (unit_pos base D HD) TIMES S' n i), E', E. ring.
  Qed.

  Lemma above_0 : (0 < Int D)%Q.
  Proof. change 0%Q with (Int 0). rewrite <- Zlt_Qlt. exact HD. Qed.

  Lemma known_holds top l net s' qs n b i : z = top ++ l :: net -> net <> [] -> scaled_at base s' qs net ->
    known_within below (units_known P moves (unmoved V) below (inputs l0)) net (inputs l) n = Some b -> In i (ids (inputs l)) ->
    (Int (fst (at_unit (inputs l) b i)) <= 2 ^ shift_of base s' * preactivation qs X n i <= Int (snd (at_unit (inputs l) b i)))%Q.
  Proof.
    intros EZ NE SC KW Ii. unfold known_within in KW. destruct (Nat.leb _ _); [|discriminate]. destruct (nth_error _ _) as [t|] eqn:E; [|discriminate].
    destruct (Nat.eqb_spec (length (get t n)) (length (ids (inputs l)))) as [L|]; [|discriminate].
    injection KW as <-. assert (exists pre, below = pre ++ net /\ inputs l = match rev pre with l' :: _ => inputs l' | [] => inputs l0 end) as (pre & EB & EW).
    { rewrite NET in EZ. destruct top as [|a top]; cbn [app] in EZ; injection EZ as -> EZ.
      - exists []. split; [exact EZ|reflexivity].
      - exists (top ++ [l]). split; [rewrite <- app_assoc; exact EZ|]. rewrite rev_app_distr. reflexivity. }
    assert (length below - length net = length pre)%nat as LN by (rewrite EB, app_length; lia). rewrite LN in E.
    destruct (find_in_combine (get t n) (ids (inputs l)) i L Ii) as (bd & F & Ib). unfold at_unit. rewrite F. cbn [snd]. rewrite EW in Ib.
    assert (knows_units D V' (pre ++ net) (units_known P moves (unmoved V) below (inputs l0)) (inputs l0)) as K by (rewrite <- EB;
      exact (units_known_sound D P moves (unmoved V) C V' below HD MADE (inputs l0))).
    pose proof (knows_below D V' pre net _ (inputs l0) t K E NE n i bd Ib) as W.
    unfold within in W. rewrite !Zle_Qle, !inject_Z_mult, (rational_value net s' qs n i SC) in W. destruct W as [W1 W2].
    split; apply (Qmult_le_l _ _ (Int D) above_0); assumption.
  Qed.

  Lemma member n d : In (n, d) C \/ ~ In (n, d) C.
  Proof. destruct (in_dec flip_dec (n, d) C); auto. Qed.

  Lemma moved_size n d : (In (n, d) C -> Z.abs (V' n d) <= D * size_of_span (moves n d)) /\ (~ In (n, d) C -> V' n d = D * V n d).
  Proof.
    destruct MADE as (_ & MV & RS). split; intros I.
    - specialize (MV n d I). unfold within in MV. unfold size_of_span. nia.
    - specialize (RS n d I). unfold within, unmoved in RS. cbn [fst snd] in RS. lia.
  Qed.

  Lemma size_of_entry n d : (Int D * (2 ^ base * Qabs (X n d)) == Int (Z.abs (V' n d)))%Q.
  Proof.
    rewrite <- abs_inject, (TIMES n d), !Qabs_Qmult, (Qabs_pos (Int D)), (Qabs_pos (2 ^ base)) by (apply Qlt_le_weak;
      first [apply above_0|apply two_power_pos]). ring.
  Qed.

  Lemma first_holds l k H w width m r : (forall t, In t (steps l) -> read_units t = count P) -> (forall m j, stage_bias l m j = 0) -> (forall m j, bias_parts l m j = 0) -> reading A X H ->
    first_moved A base P V moves (present (attributes (not_0 P V)) (count P)) (may_get (not_0 P V) (count P)) (tabulate (largest_entry P V moves)) k l
      (heaviest l width w) width m = Some r -> receives l base m width (fun _ => H) (fun _ => X) r.
  Proof.
    intros UN NB NP EX. pose proof above_0 as D0. unfold first_moved.
    apply (receive_first_spec A base (not_0 P V) C l X H _ _ false PRECISION BASE); [| exact EX|exact UN|exact NB|exact NP|discriminate| |].
    - destruct MADE as ((_ & PF & T & L) & _). split; [cbn [not_0 total]; unfold pos; lia|]. split.
      + intros n. cbn [not_0 each]. unfold pos. destruct (of_node n C) as [|f rest] eqn:E; [unfold size; cbn; lia|].
        assert (In f (of_node n C)) as I by (rewrite E; left; reflexivity). unfold of_node in I. apply filter_In in I as [I E']. apply Z.eqb_eq in E'.
        specialize (L f I). rewrite E', E in L. lia.
      + intros n d N. destruct (member n d) as [I|I]; [right; split; [exact I|exact (proj1 (PF _ I))]|left]. cbn [not_0 attributes]. apply negb_true_iff, Z.eqb_neq. intros E.
        apply negb_true_iff in N.
        assert (is_zero (X n d) = true); [|congruence]. apply is_zero_spec. pose proof (TIMES n d) as T0.
        rewrite (proj2 (moved_size n d) I), E, Z.mul_0_r in T0. pose proof (unit_pos base D HD) as B.
        apply (Qmult_inj_l _ _ (inject_Z D * 2 ^ base)); [intros Z; rewrite Z in B; discriminate B|]. rewrite <- T0. change (Int 0) with 0%Q. ring.
    - intros m' t e i It Ie Ii. apply (Qmult_le_l _ _ (Int D) D0). rewrite size_of_entry, <- inject_Z_mult, <- Zle_Qle.
      assert (Z.abs (V' (fst e) i) <= D * largest_entry P V moves (fst e)) as LE.
      { rewrite (UN t It) in Ii. pose proof (greatest_in (ids (count P)) 0 (fun d => if permitted P (fst e) d then Z.max (Z.abs (V (fst e) d)) (size_of_span
          (moves (fst e) d)) else Z.abs (V (fst e) d)) i Ii) as G.
        fold (largest_entry P V moves (fst e)) in G. cbv beta in G. destruct (moved_size (fst e) i) as [S1 S2]. destruct (member (fst e) i) as [I|I].
        - specialize (S1 I). destruct MADE as ((_ & PF & _) & _). destruct (PF _ I) as [PE _]. cbn [fst snd] in PE. rewrite PE in G. nia.
        - rewrite (S2 I), Z.abs_mul, (Z.abs_eq D) by lia. destruct (permitted P (fst e) i); nia. }
      pose proof (greatest_in (steps l) (2 ^ base) (fun t => greatest (operator t m') 0 (fun e => get (tabulate (largest_entry P V moves))
        (fst e))) t It) as G1.
      pose proof (greatest_in (operator t m') 0 (fun e => get (tabulate (largest_entry P V moves)) (fst e)) e Ie) as G2. cbv beta in G1, G2.
      rewrite get_tabulate in G2. nia.
    - intros width' m' b M j Ij. unfold magnitudes_within in M. destruct (each_one _ _) as [l'| |] eqn:E; try discriminate. injection M as ->.
      apply each_one_got in E.
      assert (length (ids width') = length b) as L by (clear - E; induction E; cbn [length]; congruence).
      destruct (find_in_combine b (ids width') j (eq_sym L) Ij) as (bd & F & Ib). unfold at_unit. rewrite F. cbn [snd].
      assert (bind (lower P (sizes_moved moves) (unmoved (sizes_unmoved V)) no_signs no_lines (absolute (count P) l) [] width' (one_unit width' m' j (-1)))
        (fun b => Got (0, - b)) = Got bd) as G.
      { clear - E Ib. revert E Ib. generalize (ids width'). intros us E. induction E as [|u b0 us bs G E IHE]; [intros []|].
        intros [EQ|I]; [inversion EQ; subst; exact G|auto]. }
      apply bind_got in G as (x & G & [= <-]). cbn [snd].
      assert (made_by D P (sizes_moved moves) (unmoved (sizes_unmoved V)) C (fun n d => Z.abs (V' n d))) as MA.
      { destruct MADE as (AD & _). split; [exact AD|]. split; intros n d I; destruct (moved_size n d) as [S1 S2];
          unfold within, sizes_moved, unmoved, sizes_unmoved; cbn [fst snd].
        - specialize (S1 I). lia.
        - rewrite (S2 I), Z.abs_mul, (Z.abs_eq D) by lia. lia. }
      apply (lower_sound D P _ _ C _ HD MA) in G; [|apply no_signs_obeyed|exact I]. rewrite one_unit_value in G by exact Ij.
      apply (Qmult_le_l _ _ (Int D) D0). assert (zvalue (dilate D (absolute (count P) l)) (fun n d => Z.abs (V' n d)) m' j <= D * - x) as G' by lia.
      rewrite Zle_Qle, (inject_Z_mult D) in G'.
      eapply Qle_trans; [|exact G']. apply Qle_lteq. right. cbn [dilate map dilate_layer zvalue absolute terms inputs bias].
      rewrite Z.mul_0_r, Z.add_0_l. unfold mass_of. rewrite <- sum_times, zsum_map, sum_inject. apply sum_eq. intros t It. cbn [operator weight].
      rewrite <- sum_times, zsum_map, sum_inject.
      apply sum_eq. intros e _. cbn [fst snd zpassed]. rewrite inject_Z_mult.
      transitivity (Int (Z.abs (snd e)) * (Int D * sum (ids (read_units t)) (fun i => 2 ^ base * Qabs (X (fst e) i) * Int (Z.abs (weight_size t i j)))))%Q; [ring|].
      apply Qmult_comp; [reflexivity|]. rewrite (UN t It), <- sum_times, sum_inject. apply sum_eq. intros i _. rewrite inject_Z_mult, <- size_of_entry, size_abs. ring.
  Qed.
End Attack.

Theorem verified_deployed_ranges (A : arithmetic) (base nodes : Z) (s : shifts) (bits z : network Z) (running_bits : list (stage Z)) (N : running) (P : problem)
    (read V : Z -> Z -> Z) (low high : rows) (moves : Z -> Z -> Z * Z) (classes : Z) (d : deployed_ranges) (by_prediction : bool) (t y : Z) (c : range_claim) :
  integers_at base s bits z ->
  stages_at base s running_bits (runs N) (places N) ->
  (forall n i, to_integer base (read n i) = Some (V n i)) ->
  (forall n i, inject_Z (fst (moves n i)) == 2 ^ base * low n i /\ inject_Z (snd (moves n i)) == 2 ^ base * high n i)%Q ->
  prepare_deployed_ranges A base nodes z s classes N P V moves = Some d ->
  let x : rows := fun n i => float_value (read n i) in
  match judge_deployed_ranges d by_prediction t y c with
  | Some IsRobust => robust_run A (rational_stages running_bits) (by_ranges P x low high) classes t y
  | Some IsBroken => broken_run A (rational_stages running_bits) (by_ranges P x low high) classes t y /\ (by_prediction = true -> predicted (rational bits) x classes t y)
  | Some IsTied => False
  | None => True
  end.
Proof.
  intros INT STG RD MV HP x. assert (forall n i, (inject_Z (V n i) == 2 ^ base * x n i)%Q) as READ by (intros n i; apply to_integer_spec, RD).
  unfold prepare_deployed_ranges in HP. destruct (sane A base s && _) eqn:SANE; [|discriminate]. destruct z as [|l0 below] eqn:EZ; [discriminate|].
  rewrite <- EZ in *.
  destruct (prepare_ranges z classes P V moves) as [p|] eqn:EP; [|discriminate]. injection HP as <-. apply andb_prop in SANE as [SANE FC].
  unfold sane in SANE. apply andb_prop in SANE as [C NN]. apply andb_prop in C as [PR BA]. apply Z.leb_le in PR, BA.
  pose proof (integers_at_scaled base s bits z INT) as SC. assert (z <> []) as NZ by (rewrite EZ; discriminate).
  assert (known_units p = units_known P moves (unmoved V) below (inputs l0)) as KU.
  { destruct (prepared_spec z classes P V moves p EP) as (l' & b' & f' & E & _ & ->). rewrite EZ in E. injection E as <- <-. reflexivity. }
  set (sums := last_sums A base z s classes (known_within below (known_units p)) _ (runs N) (places N)).
  (* Margins of integers are margins of executions. *)
  assert (forall D V' X W e a b, attacked P V moves D V' -> times base D V' X -> execution A (rational_stages running_bits) X W -> 0 <= t < nodes ->
    get sums t = Some e -> 0 <= a < classes -> 0 <= b < classes -> D * pair_error A e a b < zvalue (dilate D z) V' t a - zvalue (dilate D z) V' t b ->
    (W (length (rational_stages running_bits)) t b < W (length (rational_stages running_bits)) t a)%Q) as RUN.
  { intros D V' X W e a b (HD & C0 & M) TI EX Ht G Ha Hb LT.
    unfold fits_chain in FC. apply andb_prop in FC as [AR PL]. destruct (stages_scaled base s _ _ _ STG) as [LB ST].
    pose proof (fun k l p => layer_values nodes (count P) (runs N) (rational_stages running_bits) (places N) base s z (rational bits) (blocks N) X SC NN AR ST classes k l p PL) as LV.
    destruct EX as [READS RUNS]. pose proof PL as PL'. unfold all_placed in PL'. apply andb_prop in PL' as [PL1 PL2]. apply andb_prop in PL1 as [PL1 _]. apply Nat.eqb_eq in PL1.
    destruct (rev (places N)) as [|pl rp] eqn:RP; [discriminate|]. destruct (rev (runs N)) as [|l rl] eqn:RL; [discriminate|].
    apply andb_prop in PL2 as [PL2 Q4]. apply andb_prop in PL2 as [PL2 Q3]. apply andb_prop in PL2 as [Q1 Q2]. apply Nat.eqb_eq in Q1. apply Z.eqb_eq in Q2, Q3.
    pose proof (last_nth _ _ _ RP) as NP. rewrite <- PL1 in NP.
    assert (length (rational_stages running_bits) = length (runs N)) as LQ by (unfold rational_stages; rewrite map_length; exact LB).
    refine (margin_near A base z s classes nodes _ _ (runs N) (rational_stages running_bits) (places N) X W (exact_at (places N) (rational bits) X)
      (exact_before (places N) (rational bits) X) PR BA NN _ eq_refl _ _ _ pl t e a b LQ NP Q3 _ (proj2 (ids_in nodes t) Ht) G (proj2 (ids_in classes a) Ha)
      (proj2 (ids_in classes b) Hb) _).
    - intros k lk pk NL NPk. destruct (LV k lk pk NL NPk) as (qk & a' & w & rest & E1 & E2 & E3 & E4 & E5 & E6). exists qk, a', w, rest.
      repeat (split; [assumption|]). intros t' It. specialize (E6 t' It). destruct (read_layer t'); [exact I|exact E6].
    - intros k lk pk n bd u NL NPk In' width KW Iu. rewrite KU in KW. unfold exact_before. rewrite NPk. unfold width, width_at in *. clear width.
      pose proof (scaled_at_skipn base (layers_above pk) s _ _ SC) as SCk. destruct (LV k lk pk NL NPk) as (_ & a' & w & rest & E1 & _).
      assert (skipn (layers_above pk) z <> []) as NE by (intros C; rewrite C, E1 in SCk; destruct (skipn (layers_above pk) (rational bits)); destruct SCk).
      destruct (layers_above pk) as [|d'].
      + exfalso. unfold known_within in KW. cbn [skipn] in KW. assert (Nat.leb (length z) (length below) = false) as LE by (apply Nat.leb_gt; rewrite EZ; cbn [length]; lia).
        rewrite LE in KW. discriminate.
      + destruct (nth_error z d') as [l'|] eqn:NZ'; [|destruct Iu].
        assert (z = firstn d' z ++ l' :: skipn (S d') z) as E0 by (rewrite <- (nth_skipn _ _ _ NZ'); symmetry; apply firstn_skipn).
        exact (known_holds base P V moves z below l0 D C0 V' X EZ HD M TI _ l' _ _ _ n bd _ E0 NE SCk KW Iu).
    - intros k lk pk w m r NL NPk RF. destruct (LV k lk pk NL NPk) as (_ & _ & _ & _ & _ & _ & _ & _ & _ & RU).
      refine (first_holds A base P V moves D C0 V' X PR BA HD M TI (rows_part lk) k (W O) w (wide pk) m r _ (fun _ _ => eq_refl) (fun _ _ => eq_refl) READS RF).
      intros t' It. cbn [rows_part steps] in It. apply filter_In in It as [It E0]. apply Nat.eqb_eq in E0. specialize (RU t' It). rewrite E0 in RU. exact RU.
    - intros k q NQ m j. destruct (RUNS k q NQ m j) as (v & R1 & R2). exists v. auto.
    - intros l' j NL Ij. pose proof (last_nth _ _ _ RL) as NL'. rewrite NL in NL'. injection NL' as ->. rewrite forallb_forall in Q4. specialize (Q4 j Ij).
      apply negb_true_iff in Q4. exact Q4.
    - unfold exact_before. rewrite NP, Q1, Q2. cbn [skipn]. rewrite !Z.add_0_l.
      pose proof (above_0 D HD) as D0. apply (Qmult_lt_l _ _ (Int D) D0). rewrite Zlt_Qlt in LT. unfold Z.sub in LT.
      rewrite inject_Z_plus, inject_Z_opp, inject_Z_mult, !(rational_value base D V' X HD TI z s (rational bits) t _ SC) in LT.
      set (k := (2 ^ shift_of base s)%Q) in *. clearbody k. clear - LT. lra. }
  unfold judge_deployed_ranges. cbn [exactly_moved errors_moved arithmetic_moved nodes_moved]. fold sums.
  set (found := if Z.leb 0 t && Z.ltb t nodes then get sums t else None).
  assert (forall e, found = Some e -> 0 <= t < nodes /\ get sums t = Some e) as INR.
  { intros e G. unfold found in G. destruct (Z.leb_spec 0 t); [|discriminate]. destruct (Z.ltb_spec t nodes); [|discriminate]. auto. }
  clearbody found. destruct found as [e|].
  2: { destruct c as [scale trees|other D entries].
    - destruct (margins_exceed _ _ _ _ _ _) eqn:M; [|exact I]. intros X W BX EX other Ho Do.
      destruct (made_into base P V low high x moves READ MV X BX) as (D & V' & AT & _).
      destruct (margins_sound z classes P V moves p EP _ t y scale trees D V' other M AT Ho Do) as (_ & e & E & _). discriminate E.
    - destruct (moved_by _ _ _ _ _ _ _); exact I. }
  destruct c as [scale trees|other D entries].
  - destruct (margins_exceed _ _ _ _ _ _) eqn:M; [|exact I]. intros X W BX EX other Ho Do.
    destruct (made_into base P V low high x moves READ MV X BX) as (D & V' & AT & TI).
    destruct (margins_sound z classes P V moves p EP _ t y scale trees D V' other M AT Ho Do) as (Hy & e' & [= <-] & L).
    destruct (INR e eq_refl) as [Ht G']. exact (RUN D V' X W e y other AT TI EX Ht G' Hy Ho L).
  - destruct (moved_by _ _ _ _ _ _ _) as [k|] eqn:M; [|exact I]. destruct (Z.ltb_spec (D * pair_error A e other y) k) as [L|]; [|exact I].
    destruct (moved_sound z classes P V moves p EP _ _ _ _ _ _ _ M) as (V' & AT & Hy & Ho & Do & -> & PD).
    destruct (made_out base P V low high x moves READ MV D V' AT) as (X & BX & TI). split.
    + exists X, other. split; [exact BX|]. split; [exact Ho|]. split; [exact Do|]. intros W EX. destruct (INR e eq_refl) as [Ht G'].
      exact (RUN D V' X W e other y AT TI EX Ht G' Ho Hy L).
    + intros BP. specialize (PD BP). destruct (integers_scaled base _ bits z (integers_at_of base s bits z INT)) as (k' & _ & S).
      exact (leading_predicted base k' (rational bits) z classes V x t y READ S PD).
Qed.

Print Assumptions verified_deployed_ranges.

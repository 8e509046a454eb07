(* What is accepted of the network as it runs is true of every execution. *)
From Coq Require Import ZArith QArith Qabs Qpower List Bool Lia Lqa.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Leaf Sound Floats Menus Divided DividedSound Widen Categories Roundings RoundedRow
  Arranged Deployed ComputedRow DeployedRows ArrangedSound DeployedSound.
Import ListNotations.
Open Scope Z_scope.

(* The integers of a network of floats, as for `integers_of`, where the program says which powers of two it has taken. *)
Fixpoint integers_at (base : Z) (s : shifts) (bits z : network Z) : Prop :=
  match s, bits, z with
  | [], [], [] => True
  | (a, w) :: rest, b :: bs, l :: ls =>
      integers_at base rest bs ls /\ Forall2 (integer_term a w) (terms b) (terms l) /\ inputs b = inputs l /\ (forall j, relu b j = relu l j) /\
      (forall m j, to_integer (shift_of base rest + a + w) (bias b m j) = Some (bias l m j))
  | _, _, _ => False
  end.

Lemma integers_at_of base s : forall bits z, integers_at base s bits z -> integers_of base (shift_of base s) bits z.
Proof.
  induction s as [|[a w] rest IH]; intros [|b bs] [|l ls] H; try destruct H; [constructor|]. destruct H0 as (T & I & R & B). cbn [shift_of]. constructor; auto.
Qed.

Lemma integers_at_scaled base s : forall bits z, integers_at base s bits z -> scaled_at base s (rational bits) z.
Proof.
  induction s as [|[a w] rest IH]; intros [|b bs] [|l ls] H; try destruct H; [constructor|]. destruct H0 as (T & I & R & B). cbn [scaled_at rational map].
  split; [apply IH; exact H|]. split; [|split; [exact I|split; [exact R|]]].
  - cbn [rational_layer terms]. clear - T. induction T as [|t t' ts ts' [To Tw] T IHT]; cbn [map]; constructor; auto. split.
    + intros m. cbn [rational_term operator]. specialize (To m). induction To as [|e f es fs [E1 E2] To IHe]; cbn [map]; constructor; auto.
      split; [exact E1|]. cbn [snd]. apply to_integer_spec. assumption.
    + intros i j. cbn [rational_term weight]. apply to_integer_spec. apply Tw.
  - intros m j. cbn [rational_layer bias]. apply to_integer_spec. apply B.
Qed.

(* The same of the layers that run, each where it stands. *)
Definition integer_reader (a w : Z) (b z : reader Z) : Prop := integer_term a w b z /\ read_layer b = read_layer z /\ read_units b = read_units z /\
  (forall m, entry_error b m = entry_error z m) /\ more_roundings b = more_roundings z /\ forall i j, to_integer w (parts_size b i j) = Some (parts_size z i j).
Definition stage_at (base : Z) (s : shifts) (bits l : stage Z) : Prop :=
  match s with
  | (a, w) :: rest =>
      Forall2 (integer_reader a w) (steps bits) (steps l) /\ (forall j, rectifies bits j = rectifies l j) /\
      (forall m j, to_integer (shift_of base rest + a + w) (stage_bias bits m j) = Some (stage_bias l m j)) /\
      weight_error bits = weight_error l /\ (forall m, bias_error bits m = bias_error l m) /\ more_for_bias bits = more_for_bias l /\
      forall m j, to_integer (shift_of base rest + a + w) (bias_parts bits m j) = Some (bias_parts l m j)
  | [] => False
  end.
Fixpoint stages_at (base : Z) (s : shifts) (bits net : list (stage Z)) (places : list place) : Prop :=
  match bits, net, places with
  | [], [], [] => True
  | b :: bs, l :: ls, p :: ps => stage_at base (skipn (layers_above p) s) b l /\ stages_at base s bs ls ps
  | _, _, _ => False
  end.
Definition rational_stage (l : stage Z) : stage Q :=
  {| steps := map (fun t : reader Z => {| read_layer := read_layer t; read_units := read_units t; entry_error := entry_error t;
       parts_size := fun i j => float_value (parts_size t i j); more_roundings := more_roundings t; passes := rational_term t |}) (steps l);
     stage_bias := fun m j => float_value (stage_bias l m j); weight_error := weight_error l; bias_error := bias_error l; is_folded := is_folded l;
     bias_parts := fun m j => float_value (bias_parts l m j); more_for_bias := more_for_bias l; rectifies := rectifies l |}.
Definition rational_stages (net : list (stage Z)) : list (stage Q) := map rational_stage net.

Lemma stages_scaled base s : forall bits net places, stages_at base s bits net places -> length bits = length net /\
  forall k l p, nth_error net k = Some l -> nth_error places k = Some p ->
    exists ql, nth_error (rational_stages bits) k = Some ql /\ scaled_stage base (skipn (layers_above p) s) ql l.
Proof.
  induction bits as [|b bs IH]; intros [|l ls] [|p ps] H; try destruct H; [split; [reflexivity|intros [|k] ? ? N; discriminate N]|].
  destruct (IH ls ps H0) as [IL IN]. split; [cbn [length]; congruence|]. intros [|k] l' p' NL NP; [|exact (IN k l' p' NL NP)].
  injection NL as <-. injection NP as <-. exists (rational_stage b). split; [reflexivity|]. unfold stage_at in H. unfold scaled_stage.
  destruct (skipn (layers_above p) s) as [|[a w] rest]; [exact H|]. destruct H as (T & R & B & U). split; [|split; [exact R|split; [intros m j; apply to_integer_spec, B|]]].
  2: { destruct U as (U1 & U2 & U3 & U4). split; [exact U1|]. split; [exact U2|]. split; [exact U3|]. intros m j. apply to_integer_spec, U4. }
  cbn [rational_stage steps]. clear - T. induction T as [|t t' ts ts' ([To Tw] & L & U & TE & TM & TP) T IHT]; cbn [map]; constructor; auto.
  split; [|split; [exact L|split; [exact U|split; [exact TE|split; [exact TM|intros i j; apply to_integer_spec, TP]]]]]. split.
  - intros m. cbn [passes rational_term operator]. specialize (To m). induction To as [|e f es fs [E1 E2] To IHe]; cbn [map]; constructor; auto.
    split; [exact E1|]. cbn [snd]. apply to_integer_spec. assumption.
  - intros i j. cbn [passes rational_term weight]. apply to_integer_spec. apply Tw.
Qed.

Lemma only_admissible P X : admissible (only P X) [].
Proof. split; [constructor|]. split; [intros f []|]. split; [cbn; lia|intros f []]. Qed.

Lemma no_bounds_whole net V : zwhole no_bounds net V.
Proof. induction net as [|l below IH]; cbn [zwhole]; auto. split; [discriminate|exact IH]. Qed.

Lemma within_holds change zw top P excluding reading p P' F net width m b : sound zw top P excluding reading p -> count P' = count P -> admissible P' F ->
  (forall first, ends zw first -> ends (change net) first) -> within_view change (view_of p P') net width m = Some b ->
  holds width (zvalue (change net) (reading (flipped (attributes P') F)) m) b.
Proof.
  intros SO C AD EN W. unfold within_view in W.
  pose proof (intervals_hold _ _ _ _ _ _ SO P' F no_bounds no_hints false (change net) width [m] C AD EN (no_bounds_whole _ _)) as IV.
  destruct (intervals_of _ _ _ _ _ _ _) as [[|[n' b'] [|]]| |]; try discriminate. cbn [alone] in W. destruct (Z.eqb_spec n' m) as [->|]; [|discriminate].
  injection W as ->. exact (IV m b (or_introl eq_refl)).
Qed.

(* For any way to prepare checkers about flips, to read rows of 0 and 1, and to make of them what the network reads. *)
Section Judged.
  Variables (prepare : network Z -> Z -> option prepared) (change : network Z -> network Z) (P0 P : problem) (after : list flip -> Z -> Z -> bool).
  Variables (excluding : Z -> Z -> bool) (reading : (Z -> Z -> bool) -> zrows) (made : rows -> Prop) (X0 : rows).
  Variables (A : arithmetic) (base nodes : Z) (s : shifts) (bits z : network Z) (classes : Z) (running_bits : list (stage Z)) (N : running) (d : deployed).
  Hypothesis SOUND : forall net top p, prepare net top = Some p -> sound net top P excluding reading p.
  Hypothesis ENDS : forall top net first, z = top ++ net -> net <> [] -> ends (change z) first -> ends (change net) first.
  Hypothesis INTEGERS : integers_at base s bits z.
  Hypothesis STAGES : stages_at base s running_bits (runs N) (places N).
  Hypothesis PREPARED : deployed_by prepare change P0 P after A base nodes z s classes N = Some d.

  (* Flips after which the checker computes what the network does of rows X, which are V. *)
  Definition same_values (F : list flip) (V : zrows) : Prop := forall first net, ends z first -> ends net first \/ (exists l, net = absolute (count P0) l) ->
    forall m j, zvalue (change net) (reading (flipped (attributes P) F)) m j = zvalue net V m j.
  Definition reads_as (V : zrows) (X : rows) : Prop := forall n i, (Int (V n i) == 2 ^ base * X n i)%Q.
  Definition stand_for (F : list flip) (V : zrows) (X : rows) : Prop :=
    admissible P F /\ apart excluding F /\ same_values F V /\ reads_as V X /\ (forall n i, 0 <= V n i <= 2 ^ base) /\
      exists L, additions P0 L (fun n i => negb (Z.eqb (V n i) 0)).
  Hypothesis MADE : forall X, made X -> exists F V, stand_for F V X.
  Hypothesis MAKES : forall F, admissible P F -> apart excluding F -> exists V X, stand_for F V X /\ made X /\ forall n i, V n i <> 0 -> after F n i = true.
  Hypothesis START : forall F, admissible P F -> exists V, same_values [] V /\ reads_as V X0.

  Notation table_of qs := (table_for change A base z s classes N (exactly d) qs).

  Lemma prepared_parts : exists qs, arithmetic_of d = A /\ node_range d = nodes /\ prepare (change z) classes = Some (exactly d) /\
    each_some (of_layer prepare change (count P0)) (combine (runs N) (places N)) = Some qs /\ fits_chain nodes (count P0) classes z s N = true /\
    2 <= precision A /\ 0 <= base /\ not_below_0 s = true /\ errors d = table_of qs P0 root /\
    errors_on d = (fun F => table_of qs (only P0 (after F)) (fun q => view_of q (only P (flipped (attributes P) F)))).
  Proof.
    unfold deployed_by in PREPARED. destruct (sane A base s && _) eqn:C; [|discriminate]. apply andb_prop in C as [C C5]. unfold sane in C. apply andb_prop in C as [C C3].
    apply andb_prop in C as [C1 C2]. apply Z.leb_le in C1, C2. destruct (prepare (change z) classes) as [p|] eqn:HP; [|discriminate].
    destruct (each_some _ _) as [qs|] eqn:HQ; [|discriminate]. injection PREPARED as <-. exists qs. cbn [arithmetic_of node_range exactly errors errors_on].
    repeat (split; [first [reflexivity|assumption]|]). reflexivity.
  Qed.

  Lemma each_some_nth {B C} (f : B -> option C) k : forall l r c, each_some f l = Some r -> nth_error r k = Some c -> exists b, nth_error l k = Some b /\ f b = Some c.
  Proof.
    induction k as [|k IH]; intros [|b l] r c E NC; cbn [each_some] in E; try (injection E as <-; discriminate NC); destruct (f b) as [c'|] eqn:F; try discriminate;
      destruct (each_some f l) as [cs|] eqn:E'; try discriminate; injection E as <-.
    - injection NC as ->. exists b. auto.
    - exact (IH l cs c E' NC).
  Qed.

  Lemma combine_nth {B C} k : forall (l : list B) (r : list C) b c b' , nth_error (combine l r) k = Some (b, c) -> nth_error l k = Some b' -> b = b' /\ nth_error r k = Some c.
  Proof.
    induction k as [|k IH]; intros [|b0 l] [|c0 r] b c b' NB NL; try discriminate; [injection NB as <- <-; injection NL as ->; auto|]. exact (IH l r b c b' NB NL).
  Qed.

  Lemma last_nth {B} (l : list B) b r : rev l = b :: r -> nth_error l (pred (length l)) = Some b.
  Proof.
    intros E. assert (l = rev r ++ [b]) as -> by (rewrite <- (rev_involutive l), E; reflexivity). rewrite app_length, nth_error_app2 by (cbn [length]; lia).
    cbn [length]. replace (pred (length (rev r) + 1) - length (rev r))%nat with 0%nat by lia. reflexivity.
  Qed.

  Lemma root_is_view qs : each_some (of_layer prepare change (count P0)) (combine (runs N) (places N)) = Some qs -> prepare (change z) classes = Some (exactly d) ->
    table_of qs P0 root = table_of qs P0 (fun q => view_of q P).
  Proof.
    intros ES HP. unfold table_for. rewrite (same_root _ _ _ _ _ _ (SOUND _ _ _ HP)). f_equal. f_equal. apply map_ext_in. intros [q|] I; [|reflexivity].
    apply In_nth_error in I as (k & I). destruct (each_some_nth _ _ _ _ _ ES I) as ([l p] & _ & OL). unfold of_layer in OL. destruct (steps _); [discriminate|].
    destruct (prepare (change (absolute _ _)) _) as [q'|] eqn:HQ; [|discriminate]. injection OL as ->. rewrite (same_root _ _ _ _ _ _ (SOUND _ _ _ HQ)). reflexivity.
  Qed.

  (* A margin of integers that exceeds the error is one of every execution. *)
  Lemma margin_holds P' F' F V X W L P0' x t y other qs : stand_for F V X -> (exists first, ends z first) ->
    count P' = count P -> count P0' = count P0 -> admissible P' F' -> flipped (attributes P') F' = flipped (attributes P) F ->
    additions P0' L (fun n i => negb (Z.eqb (V n i) 0)) ->
    prepare (change z) classes = Some (exactly d) -> each_some (of_layer prepare change (count P0)) (combine (runs N) (places N)) = Some qs ->
    fits_chain nodes (count P0) classes z s N = true ->
    2 <= precision A -> 0 <= base -> not_below_0 s = true -> 0 <= t < nodes ->
    get (table_of qs P0' (fun q => view_of q P')) t = Some x ->
    execution A (rational_stages running_bits) X W -> 0 <= y < classes -> 0 <= other < classes ->
    pair_error A x y other < zvalue (change z) (reading (flipped (attributes P) F)) t y - zvalue (change z) (reading (flipped (attributes P) F)) t other ->
      (W (length (rational_stages running_bits)) t other < W (length (rational_stages running_bits)) t y)%Q.
  Proof.
    intros (_ & _ & SAME & READ & UNIT & _) (first & EN) CP CP0 AD EF ADD HP HQ FC PR BA NN Ht G EX Hy Ho M. pose proof (integers_at_scaled base s bits z INTEGERS) as SC.
    pose proof (SOUND _ _ _ HP) as SO.
    assert (forall top net s' qn, z = top ++ net -> net <> [] -> scaled_at base s' qn net ->
      forall n i, (Int (zvalue (change net) (reading (flipped (attributes P) F)) n i) == 2 ^ shift_of base s' * preactivation qn X n i)%Q) as VALUE.
    { intros top net s' qn EZ NE SC' n i. destruct (scaled_at_scaled base s' qn net SC') as (c & E & S). rewrite (SAME first net EN), <- E.
      - exact (scaled_value (2 ^ base) c qn net V X (two_power_pos base) READ S n i).
      - left. clear - EN EZ NE. subst z. induction top as [|l top IH]; [exact EN|]. cbn [app ends] in EN.
        destruct (top ++ net) eqn:E; [apply app_eq_nil in E as [_ E]; contradiction|exact (IH EN)]. }
    assert (z <> []) as NZ by (intros E; rewrite E in EN; destruct EN).
    unfold fits_chain in FC. apply andb_prop in FC as [AR PL]. destruct (stages_scaled base s _ _ _ STAGES) as [LB ST].
    set (E := exact_at (places N) (rational bits) X). set (B := exact_before (places N) (rational bits) X).
    pose proof (fun k l p => layer_values nodes (count P0) (runs N) (rational_stages running_bits) (places N) base s z (rational bits) (blocks N) X SC NN AR ST classes k l p PL) as LV.
    destruct EX as [READS RUNS]. pose proof PL as PL'. unfold all_placed in PL'. apply andb_prop in PL' as [PL1 PL2]. apply andb_prop in PL1 as [PL1 _]. apply Nat.eqb_eq in PL1.
    destruct (rev (places N)) as [|p rp] eqn:RP; [discriminate|]. destruct (rev (runs N)) as [|l rl] eqn:RL; [discriminate|].
    apply andb_prop in PL2 as [PL2 Q4]. apply andb_prop in PL2 as [PL2 Q3]. apply andb_prop in PL2 as [Q1 Q2]. apply Nat.eqb_eq in Q1. apply Z.eqb_eq in Q2, Q3.
    pose proof (last_nth _ _ _ RP) as NP. rewrite <- PL1 in NP.
    assert (length (rational_stages running_bits) = length (runs N)) as LQ by (unfold rational_stages; rewrite map_length; exact LB).
    apply (margin_near A base z s classes nodes (within_view change (view_of (exactly d) P'))
      (first_rows A base P0' (present (attributes P0') (count P0')) (may_get P0' (count P0')) change
        (map (fun q => match q with Some q => Some (view_of q P') | None => None end) qs)) (runs N) (rational_stages running_bits) (places N) X W E B PR BA NN)
      with (p := p) (x := x); auto.
    - intros k lk pk NL NPk. destruct (LV k lk pk NL NPk) as (qk & a & w & rest & E1 & E2 & E3 & E4 & E5 & E6). exists qk, a, w, rest.
      repeat (split; [assumption|]). intros t' It. specialize (E6 t' It). destruct (read_layer t'); [exact I|exact E6].
    - intros k lk pk n b u NL NPk In' width WI Iu. destruct (LV k lk pk NL NPk) as (qk & a & w & rest & E1 & _).
      assert (z = firstn (layers_above pk) z ++ skipn (layers_above pk) z) as EZ by (symmetry; apply firstn_skipn).
      pose proof (scaled_at_skipn base (layers_above pk) s _ _ SC) as SCk.
      assert (skipn (layers_above pk) z <> []) as NE by (intros C; rewrite C, E1 in SCk; destruct (skipn (layers_above pk) (rational bits)); destruct SCk).
      pose proof (within_holds change (change z) classes P excluding reading (exactly d) P' F' (skipn (layers_above pk) z) width n b SO CP AD
        (fun f => ENDS _ _ f EZ NE) WI) as IV. rewrite EF in IV.
      apply at_unit_spec with (j := (first_unit pk + u)%Z) in IV; [|exact Iu]. unfold B, exact_before. rewrite NPk.
      rewrite <- (VALUE _ _ _ _ EZ NE SCk), <- !Zle_Qle. exact IV.
    - intros k lk pk w m r NL NPk RF. destruct (LV k lk pk NL NPk) as (_ & _ & _ & _ & _ & _ & _ & _ & _ & RU). unfold first_rows in RF.
      destruct (nth_error (map _ qs) k) as [[u|]|] eqn:NV; [|discriminate RF|discriminate RF]. rewrite nth_error_map in NV.
      destruct (nth_error qs k) as [[q|]|] eqn:NQ; cbn [option_map] in NV; try discriminate. injection NV as <-.
      destruct (each_some_nth _ _ _ _ _ HQ NQ) as ([lk' pk'] & NC & OL). destruct (combine_nth _ _ _ _ _ _ NC NL) as [-> NPk']. rewrite NPk in NPk'. injection NPk' as <-.
      unfold of_layer in OL. cbn [fst snd] in OL. destruct (steps (rows_part lk)) as [|t0 ts0] eqn:SR; [discriminate|].
      destruct (prepare (change (absolute (count P0) (rows_part lk))) (wide pk)) as [q'|] eqn:HQ'; [|discriminate]. injection OL as ->. pose proof (SOUND _ _ _ HQ') as SQ.
      pose proof (two_power_pos base) as PB. assert (forall n i, 2 ^ base * Qabs (X n i) == Int (V n i))%Q as SIZE.
      { intros n i. transitivity (Qabs (2 ^ base * X n i)); [rewrite Qabs_Qmult, (Qabs_pos (2 ^ base)) by (apply Qlt_le_weak; exact PB); reflexivity|].
        rewrite <- (READ n i). apply Qabs_pos. change 0%Q with (Int 0). rewrite <- Zle_Qle. apply UNIT. }
      rewrite CP0 in RF.
      apply (receive_first_spec A base P0' L (rows_part lk) X (W O) (fun _ => 2 ^ base) (within_view change (view_of q P') (absolute (count P0) (rows_part lk)))
        (reads_exactly A && Z.eqb base 0) PR BA) with (w := w); [|exact READS| |reflexivity|reflexivity| | | |rewrite CP0; exact RF].
      + destruct ADD as (A1 & A2 & A3). split; [exact A1|]. split; [exact A2|]. intros n i N0. apply A3. apply negb_true_iff, Z.eqb_neq. intros E0.
        apply negb_true_iff in N0.
        assert (is_zero (X n i) = true); [|congruence]. apply is_zero_spec. apply (Qmult_inj_l _ _ (2 ^ base)); [intros C; rewrite C in PB; discriminate PB|].
        rewrite <- (READ n i), E0. ring.
      + intros t' It. cbn [rows_part steps] in It. apply filter_In in It as [It E0]. apply Nat.eqb_eq in E0. specialize (RU t' It). rewrite E0 in RU. rewrite CP0. exact RU.
      + intros PL' n i. apply andb_prop in PL' as [RE B0]. apply Z.eqb_eq in B0. specialize (READS n i). rewrite RE in READS. pose proof (READ n i) as RX. pose proof (UNIT n i) as UV.
        rewrite B0 in RX, UV. change (2 ^ 0) with 1 in UV. unfold binary. assert (W O n i == Int (V n i))%Q as E0 by (rewrite READS, RX; change (2 ^ 0)%Q with 1%Q; ring).
        apply orb_true_iff. assert (V n i = 0 \/ V n i = 1) as [VV|VV] by lia; rewrite VV in E0; [left|right]; apply Qeq_bool_iff; exact E0.
      + intros _ t' e i _ _ _. rewrite SIZE, <- Zle_Qle. apply UNIT.
      + intros width'' m' b WI j Ij. pose proof (within_holds change _ (wide pk) P excluding reading q P' F' (absolute (count P0) (rows_part lk)) width'' m' b SQ CP AD
          (fun _ e => e) WI) as IV. rewrite EF in IV.
        destruct (at_unit_spec _ _ _ j IV Ij) as [_ IB]. rewrite (SAME first _ EN (or_intror (ex_intro _ _ eq_refl))) in IB. rewrite Zle_Qle in IB.
        eapply Qle_trans; [|exact IB]. apply Qle_lteq. right.
        cbn [zvalue absolute terms inputs bias]. rewrite Z.add_0_l. unfold mass_of. rewrite zsum_map, sum_inject.
        apply sum_eq. intros t' It. cbn [operator weight]. rewrite zsum_map, sum_inject. apply sum_eq. intros e _. cbn [fst snd]. rewrite inject_Z_mult.
        apply Qmult_comp; [reflexivity|]. rewrite sum_inject.
        assert (read_units t' = count P0) as ->.
        { cbn [rows_part steps] in It. apply filter_In in It as [It E0]. apply Nat.eqb_eq in E0. specialize (RU t' It). rewrite E0 in RU. exact RU. }
        apply sum_eq. intros i _. rewrite inject_Z_mult, SIZE, size_abs. reflexivity.
    - intros k q NQ m j. destruct (RUNS k q NQ m j) as (v & R1 & R2). exists v. auto.
    - intros l' j NL Ij. pose proof (last_nth _ _ _ RL) as NL'. rewrite NL in NL'. injection NL' as ->. rewrite forallb_forall in Q4. specialize (Q4 j Ij).
      apply negb_true_iff in Q4. exact Q4.
    - apply ids_in. lia.
    - apply ids_in. exact Hy.
    - apply ids_in. exact Ho.
    - unfold B, exact_before. rewrite NP, Q1, Q2. cbn [skipn]. rewrite !Z.add_0_l.
      rewrite Zlt_Qlt in M. unfold Z.sub in M. rewrite inject_Z_plus, inject_Z_opp, !(VALUE [] z s (rational bits) eq_refl NZ SC) in M.
      set (e := Int (pair_error A x y other)) in *. clearbody e. clear - M. lra.
  Qed.

  Lemma chain_ends : fits_chain nodes (count P0) classes z s N = true -> exists first, ends z first.
  Proof.
    intros FC. assert (z <> []) as NZ.
    { intros E0. unfold fits_chain in FC. rewrite E0 in FC. apply andb_prop in FC as [AR PL]. cbn [arranged] in AR. destruct s; [|discriminate].
      destruct (blocks N) as [|]; [|discriminate]. unfold all_placed in PL. apply andb_prop in PL as [PL RV]. apply andb_prop in PL as [PL1 PL]. apply Nat.eqb_eq in PL1.
      destruct (rev (places N)) as [|p rp] eqn:RP; [discriminate|]. destruct (places N) as [|p0 ps]; [discriminate|]. destruct (runs N) as [|l0 ls]; [discriminate|].
      cbn [combine numbered forallb fst snd] in PL. unfold well_placed in PL. destruct (layers_above p0); discriminate. }
    clear - NZ. induction z as [|l below IH]; [contradiction|]. destruct below as [|l' below]; [exists l; reflexivity|]. destruct IH as (first & E0); [discriminate|].
    exists first. exact E0.
  Qed.

  Theorem judged (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
    all_lines (exactly d) no_bounds lines = Some whole ->
    match judge_deployed d P whole by_prediction t y c with
    | Some IsRobust => robust_run A (rational_stages running_bits) made classes t y
    | Some IsBroken => broken_run A (rational_stages running_bits) made classes t y /\ (by_prediction = true -> predicted (rational bits) X0 classes t y)
    | Some IsTied => False
    | None => True
    end.
  Proof.
    intros HL. destruct prepared_parts as (qs & HA & HN & HP & HQ & FC & PR & BA & NN & E1 & E2). pose proof (SOUND _ _ _ HP) as SO.
    pose proof (chain_ends FC) as EN.
    pose proof (all_lines_sound (change z) P classes excluding reading (exactly d) SO lines no_bounds whole (no_bounds_sound (change z) reading P) HL) as WS.
    assert (errors d = table_of qs P0 (fun q => view_of q P)) as E3 by (rewrite E1; apply root_is_view; assumption).
    assert (forall sums x, errors_at d sums t = Some x -> 0 <= t < nodes /\ get sums t = Some x) as AT.
    { intros sums x G. unfold errors_at in G. rewrite HN in G. destruct (Z.leb_spec 0 t); [|discriminate]. destruct (Z.ltb_spec t nodes); [|discriminate]. auto. }
    destruct c as [scale trees|other F]; cbn [judge_deployed].
    - destruct (errors_at d (errors d) t) as [x|] eqn:G; [|exact I]. apply AT in G as [Ht G]. destruct (_ && _) eqn:C; [|exact I]. apply andb_prop in C as [C HT]. apply andb_prop in C as [C Hy2].
      apply andb_prop in C as [Hs Hy1]. rewrite (same_classes _ _ _ _ _ _ SO) in *. apply Z.ltb_lt in Hs, Hy2. apply Z.leb_le in Hy1. rewrite forallb_forall in HT.
      intros X W MX EX other Ho D. destruct (MADE X MX) as (F & V & ST). pose proof ST as (AD & AP & _ & _ & _ & L & ADD).
      specialize (HT other (proj2 (ids_in classes other) Ho)). destruct (Z.eqb_spec other y) as [E|_]; [contradiction|]. cbn [orb] in HT.
      destruct (List.find _ trees) as [e|]; [|discriminate]. rewrite HA, (same_root _ _ _ _ _ _ SO) in HT.
      pose proof (tree_above_sound (change z) classes P excluding reading (exactly d) SO _ (snd e) P [] no_signs F whole _ eq_refl AD AP (fun _
        (e : False) => match e with end) (no_signs_obeyed (change z) _) (WS F AD) HT) as T.
      rewrite (margin_value (change z) classes P excluding reading (exactly d) SO) in T by (first [apply ids_in; lia|assumption]).
      rewrite E3 in G. apply (margin_holds P F F V X W L P0 x t y other qs ST EN eq_refl eq_refl AD eq_refl ADD HP HQ FC PR BA NN Ht G EX); [lia|exact Ho|].
      nia.
    - destruct (_ && _) eqn:C; [|exact I]. apply andb_prop in C as [C HP']. apply andb_prop in C as [C HD]. apply andb_prop in C as [HF HR].
      apply is_admissible_spec in HF. apply negb_true_iff, Z.eqb_neq in HD.
      apply (are_apart_spec (change z) classes P excluding reading (exactly d) SO) in HR.
      destruct (logit_of _ y) as [a|] eqn:Ea; [|exact I]. destruct (logit_of _ other) as [b|] eqn:Eb; [|exact I].
      destruct (exceeds d (errors_at d (errors d) t) other y (b - a) || _) eqn:X; [|exact I].
      apply (logit_of_spec (change z) classes P excluding reading (exactly d) SO) in Ea as [Hy ->].
      apply (logit_of_spec (change z) classes P excluding reading (exactly d) SO) in Eb as [Ho ->].
      split.
      + destruct (MAKES F HF HR) as (V & X1 & ST & MX & AF). pose proof ST as (_ & _ & _ & _ & _ & L & ADD).
        exists X1, other. split; [exact MX|]. split; [exact Ho|]. split; [exact HD|]. intros W EX. unfold exceeds in X. rewrite HA in X.
        apply orb_prop in X as [X|X].
        * destruct (errors_at d (errors d) t) as [x|] eqn:G; [|discriminate]. apply Z.ltb_lt in X. apply AT in G as [Ht G]. rewrite E3 in G.
          exact (margin_holds P F F V X1 W L P0 x t other y qs ST EN eq_refl eq_refl HF eq_refl ADD HP HQ FC PR BA NN Ht G EX Ho Hy X).
        * rewrite E2 in X. cbv beta in X. destruct (errors_at d _ t) as [x|] eqn:G; [|discriminate]. apply Z.ltb_lt in X.
          apply AT in G as [Ht G].
          apply (margin_holds (only P (flipped (attributes P) F)) [] F V X1 W [] (only P0 (after F)) x t other y qs ST EN eq_refl eq_refl
            (only_admissible _ _) eq_refl); auto.
          split; [unfold pos, size; cbn; lia|]. split; [intros n; unfold pos, size; cbn; lia|]. intros n i B. left. cbn [only attributes]. apply AF.
          apply negb_true_iff, Z.eqb_neq in B. exact B.
      + intros ->. cbn [negb orb] in HP'. destruct (START F HF) as (V & SAME & READ).
        destruct (integers_scaled base _ bits z (integers_at_of base s bits z INTEGERS)) as (k & _ & SC).
        apply (is_predicted_spec (change z) P classes excluding reading (exactly d) SO) in HP' as [Hy' H]. split; [exact Hy'|]. intros o Ho' D.
        destruct EN as (first & EN). pose proof (SAME first z EN (or_introl EN) t) as VA. change (flipped (attributes P) []) with (attributes P) in VA.
        destruct (H o Ho' D) as [LT|[E LT]]; [left|right; split; [|exact LT]]; rewrite !VA in *.
        * apply (scaled_less (2 ^ base) k (rational bits) z _ _ (two_power_pos base) READ t o y SC). exact LT.
        * apply (scaled_equal (2 ^ base) k (rational bits) z _ _ (two_power_pos base) READ t o y SC). exact E.
  Qed.
End Judged.

Lemma ends_suffix top net first : ends (top ++ net) first -> net <> [] -> ends net first.
Proof.
  intros EN NE. induction top as [|l top IH]; [exact EN|]. cbn [app ends] in EN.
  destruct (top ++ net) eqn:E; [apply app_eq_nil in E as [_ E]; contradiction|exact (IH EN)].
Qed.

(* Where the checker's network is the one that runs. *)
Section Flipped.
  Variables (prepare : network Z -> Z -> option prepared) (reading : (Z -> Z -> bool) -> zrows) (read : (Z -> Z -> bool) -> rows).
  Variables (A : arithmetic) (base nodes : Z) (s : shifts) (bits z : network Z) (P : problem) (classes : Z) (running_bits : list (stage Z)) (N : running) (d : deployed).
  Hypothesis SOUND : forall net top p, prepare net top = Some p -> sound net top P no_rivals reading p.
  Hypothesis MISSING : forall X n d, X n d = false -> reading X n d = 0.
  Hypothesis UNIT : forall X n d, 0 <= reading X n d <= 2 ^ base.
  Hypothesis READ : forall X n d, (Int (reading X n d) == 2 ^ base * read X n d)%Q.
  Hypothesis INTEGERS : integers_at base s bits z.
  Hypothesis STAGES : stages_at base s running_bits (runs N) (places N).
  Hypothesis PREPARED : deployed_by prepare as_it_is P P (flipped (attributes P)) A base nodes z s classes N = Some d.

  Theorem judged_flips (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
    all_lines (exactly d) no_bounds lines = Some whole ->
    let made X := exists F, admissible P F /\ X = read (flipped (attributes P) F) in
    match judge_deployed d P whole by_prediction t y c with
    | Some IsRobust => robust_run A (rational_stages running_bits) made classes t y
    | Some IsBroken => broken_run A (rational_stages running_bits) made classes t y /\ (by_prediction = true -> predicted (rational bits) (read (attributes P)) classes t y)
    | Some IsTied => False
    | None => True
    end.
  Proof.
    intros HL made.
    assert (forall X n i, reading X n i <> 0 -> X n i = true) as HAS by (intros X n i NR; destruct (X n i) eqn:E;
      [reflexivity|contradiction (NR (MISSING X n i E))]).
    assert (forall F, admissible P F -> stand_for as_it_is P P no_rivals reading base z F (reading (flipped (attributes P) F)) (read (flipped
      (attributes P) F))) as ST.
    { intros F AD. split; [exact AD|]. split; [apply apart_none|]. split; [intros first net _ _ m j; reflexivity|]. split; [exact (READ _)|].
      split; [exact (UNIT _)|].
      exists F. destruct (flips_add P F AD) as (H1 & H2 & H3). split; [exact H1|]. split; [exact H2|]. intros n i NR. apply H3, HAS.
      apply negb_true_iff, Z.eqb_neq in NR. exact NR. }
    apply (judged prepare as_it_is P P (flipped (attributes P)) no_rivals reading made (read (attributes P)) A base nodes s bits z classes running_bits N d SOUND) 
      with (lines := lines); auto.
    - intros top net first -> NE EN. exact (ends_suffix top net first EN NE).
    - intros X (F & AD & ->). eauto.
    - intros F AD _. exists (reading (flipped (attributes P) F)), (read (flipped (attributes P) F)). split; [auto|]. split; [exists F; auto|]. apply HAS.
    - intros F _. exists (reading (attributes P)). split; [intros first net _ _ m j; reflexivity|exact (READ _)].
  Qed.
End Flipped.

(* The last word about the network as it runs, on rows as they are. *)
Theorem verified_deployed (A : arithmetic) (nodes : Z) (s : shifts) (bits z : network Z) (running_bits : list (stage Z)) (N : running) (P : problem) (classes : Z) (d : deployed)
    (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
  integers_at 0 s bits z ->
  stages_at 0 s running_bits (runs N) (places N) ->
  prepare_deployed A nodes z s classes N P = Some d ->
  all_lines (exactly d) no_bounds lines = Some whole ->
  match judge_deployed d P whole by_prediction t y c with
  | Some IsRobust => robust_run A (rational_stages running_bits) (by_flips P) classes t y
  | Some IsBroken => broken_run A (rational_stages running_bits) (by_flips P) classes t y /\ (by_prediction = true -> predicted (rational bits) (numbers (attributes P)) classes t y)
  | Some IsTied => False
  | None => True
  end.
Proof.
  intros INT STG HP HL. refine (judged_flips _ entries numbers A 0 nodes s bits z P classes running_bits N d
    (fun net top p => prepared_sound net top P no_rivals p) _ _ _ INT STG HP lines whole by_prediction t y c HL).
  - intros X n i E. unfold entries. rewrite E. reflexivity.
  - intros X n i. unfold entries. destruct (X n i); cbn; lia.
  - intros X n i. unfold entries, numbers. destruct (X n i); reflexivity.
Qed.

(* And on rows that are divided by their sums: `share` are the floats by which. *)
Theorem verified_deployed_rows (A : arithmetic) (base nodes : Z) (s : shifts) (bits z : network Z) (running_bits : list (stage Z)) (N : running) (P : problem) (share sigma : Z -> Z) (classes : Z) (d : deployed)
    (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
  integers_at base s bits z ->
  stages_at base s running_bits (runs N) (places N) ->
  (forall count, to_integer base (share count) = Some (sigma count)) ->
  prepare_deployed_rows A base nodes z s classes N P sigma = Some d ->
  all_lines (exactly d) no_bounds lines = Some whole ->
  let shares count := float_value (share count) in
  match judge_deployed d P whole by_prediction t y c with
  | Some IsRobust => robust_run A (rational_stages running_bits) (by_flips_divided P shares) classes t y
  | Some IsBroken => broken_run A (rational_stages running_bits) (by_flips_divided P shares) classes t y /\
      (by_prediction = true -> predicted (rational bits) (divided_by shares (count P) (attributes P)) classes t y)
  | Some IsTied => False
  | None => True
  end.
Proof.
  intros INT STG SH HP HL shares. unfold prepare_deployed_rows in HP. destruct (Z.leb 0 (count P) && forallb _ _) eqn:SMALL; [|discriminate].
  apply andb_prop in SMALL as [C0 SMALL]. apply Z.leb_le in C0. rewrite forallb_forall in SMALL.
  refine (judged_flips _ (divided sigma (count P)) (divided_by shares (count P)) A base nodes s bits z P classes running_bits N d
    (fun net top p => prepared_rows_sound net top P sigma p) _ _ _ INT STG HP lines whole by_prediction t y c HL).
  - intros X n i E. unfold divided. rewrite E. reflexivity.
  - intros X n i. unfold divided. set (k := Z.of_nat (length (filter (X n) (ids (count P))))).
    assert (0 <= sigma k <= 2 ^ base); [|destruct (X n i); cbn [bit]; lia].
    assert (In k (ids (count P + 1))) as I.
    { apply ids_in. unfold k. pose proof (filter_mono (ids (count P)) (X n) (fun _ => true) (fun _ _ _ => eq_refl)) as L. rewrite filter_all in L.
      assert (Z.of_nat (length (ids (count P))) = count P) as LC; [|lia]. unfold ids. clear - C0. rewrite <- (Z2Nat.id (count P)) at 2 by lia. f_equal.
      generalize 0 at 1. induction (Z.to_nat (count P)) as [|r IH]; intros from; [reflexivity|]. cbn [counting length]. rewrite IH. reflexivity. }
    specialize (SMALL k I). apply andb_prop in SMALL as [S1 S2]. apply Z.leb_le in S1, S2. lia.
  - intros X n i. unfold divided, divided_by. destruct (X n i); cbn [bit]; [|cbn; ring]. rewrite Z.mul_1_l. apply to_integer_spec, SH.
Qed.

(* Changes of categories as flips: what the network reads. *)
Section Categorised.
  Variables (P : problem) (G : grouping).
  Hypothesis ONE : one_each P G = true.
  Hypothesis SIZE : 0 <= count P.
  Let W := fst (widened P G).
  Let change := snd (widened P G).

  Definition added_by (F : list flip) : list flip := flat_map (fun f => match change (snd f) with Some (_, (_, Some c)) => [(fst f, c)] | _ => [] end) F.

  Lemma added_size F n : size (added_by F) <= size F /\ size (of_node n (added_by F)) <= size (of_node n F).
  Proof.
    unfold size, of_node. induction F as [|f F [IH1 IH2]]; [cbn; lia|].
    change (added_by (f :: F)) with ((match change (snd f) with Some (_, (_, Some c)) => [(fst f, c)] | _ => [] end) ++ added_by F).
    destruct (change (snd f)) as [[g [o [c|]]]|]; cbn [app filter fst]; destruct (Z.eqb (fst f) n); cbn [length]; lia.
  Qed.

  Lemma changes_stand z F Y : (exists first, ends z first /\ inputs first = count P) -> admissible W F -> apart (same_group change) F -> describes P G F Y ->
    (forall n d, ~ 0 <= d < count P -> Y n d = attributes P n d) -> (forall n d, Y n d <> attributes P n d -> permitted P n d = true) ->
    stand_for (widen change (count W)) P W (same_group change) entries 0 z F (entries Y) (numbers Y).
  Proof.
    intros (first & EN & IN) AD AP DE OUT MAY. split; [exact AD|]. split; [exact AP|]. split; [|split; [|split]].
    - intros first' net EN' B m j.
      assert (first' = first) as -> by (clear - EN EN'; induction z as [|l below IH]; [destruct EN|]; cbn [ends] in *; destruct below; [congruence|auto]).
      assert (exists low w, bottom net 0 = Some (low, w) /\ inputs low = count P) as (low & w & B' & IN').
      { destruct B as [B|(l0 & ->)]; [|eexists; exists 0; split; [reflexivity|reflexivity]]. exists first. generalize 0. clear - B IN.
        induction net as [|l below IH]; intros top; [destruct B|]. cbn [ends bottom] in *.
        destruct below; [subst l; exists top; auto|exact (IH B (inputs l))]. }
      exact (widened_value P G SIZE F Y AD DE net 0 low w B' IN' m j).
    - intros n i. apply entries_numbers.
    - intros n i. unfold entries. destruct (Y n i); cbn; lia.
    - exists (added_by F). destruct AD as (ND & PF & T & L).
      split; [pose proof (proj1 (added_size F 0)); change (total W) with (total P) in T; unfold pos; lia|]. split.
      + intros n. pose proof (proj2 (added_size F n)) as N. destruct (of_node n F) as [|f rest] eqn:E; [unfold size in *; cbn [length] in N; unfold pos; lia|].
        assert (In f (of_node n F)) as I by (rewrite E; left; reflexivity). unfold of_node in I. apply filter_In in I as [I E'].
        apply Z.eqb_eq in E'. specialize (L f I). rewrite E', E in L. change (each W) with (each P) in L. unfold pos. lia.
      + intros n d B. unfold entries in B. destruct (Y n d) eqn:EY; [|discriminate B]. clear B. destruct (attributes P n d) eqn:EX; [left; reflexivity|right].
        split; [|apply MAY; congruence].
        assert (0 <= d < count P) as Hd by (destruct (Z_le_gt_dec 0 d); [destruct (Z_lt_ge_dec d (count P)); [lia|]|]; exfalso; rewrite OUT in EY by lia;
          congruence).
        specialize (DE n d Hd). rewrite EY, EX in DE. cbn [bit] in DE.
        assert (0 < zsum F (fun f => if Z.eqb (fst f) n then entry P G f d else 0)) as POS by lia. clear - POS. unfold added_by.
        induction F as [|f F IH]; [discriminate POS|]. rewrite zsum_cons in POS. cbn [flat_map]. apply in_or_app.
        destruct (Z_lt_ge_dec 0 (zsum F (fun f => if Z.eqb (fst f) n then entry P G f d else 0))) as [H|H]; [right; apply IH; exact H|left]. clear IH.
        set (others := zsum F _) in *. clearbody others.
        destruct (Z.eqb_spec (fst f) n) as [En|]; [|lia]. unfold entry in POS. fold change in POS. destruct (change (snd f)) as [[g [o [c|]]]|]; [| |lia].
        * left. rewrite En. f_equal. unfold is in POS. destruct (Z.eqb_spec c d); [assumption|].
          destruct o as [x|]; [destruct (Z.eqb x d)|]; cbn [bit] in POS; lia.
        * unfold is in POS. destruct o as [x|]; [destruct (Z.eqb x d)|]; cbn [bit] in POS; lia.
  Qed.

  Lemma unchanged_stands z F : (exists first, ends z first /\ inputs first = count P) -> admissible W F ->
    stand_for (widen change (count W)) P W (same_group change) entries 0 z [] (entries (attributes P)) (numbers (attributes P)).
  Proof.
    intros EX (_ & _ & Q & _). apply changes_stand; auto.
    - split; [constructor|]. split; [intros f []|]. split; [unfold size in *; cbn [length]; lia|intros f []].
    - intros f f' [].
    - apply unchanged.
  Qed.
End Categorised.

Lemma widen_ends change size top net first : net <> [] -> ends (widen change size (top ++ net)) first -> ends (widen change size net) first.
Proof.
  intros NE. induction top as [|l top IH]; [auto|]. cbn [app widen].
  destruct (top ++ net) as [|l' rest] eqn:E; [apply app_eq_nil in E as [_ E]; contradiction|].
  intros EN. apply IH. clear - EN. cbn [ends] in EN. cbn [widen] in *. destruct rest; exact EN.
Qed.

(* And with categories replaced. *)
Theorem verified_deployed_categories (A : arithmetic) (nodes : Z) (s : shifts) (bits z : network Z) (running_bits : list (stage Z)) (N : running) (P : problem) (G : grouping) (classes : Z) (d : deployed) (W : problem)
    (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
  integers_at 0 s bits z ->
  stages_at 0 s running_bits (runs N) (places N) ->
  prepare_deployed_categories A nodes z s classes N P G = Some (d, W) ->
  all_lines (exactly d) no_bounds lines = Some whole ->
  match judge_deployed d W whole by_prediction t y c with
  | Some IsRobust => robust_run A (rational_stages running_bits) (by_categories P G) classes t y
  | Some IsBroken => broken_run A (rational_stages running_bits) (by_categories P G) classes t y /\
      (by_prediction = true -> predicted (rational bits) (numbers (attributes P)) classes t y)
  | Some IsTied => False
  | None => True
  end.
Proof.
  intros INT STG HP HL. unfold prepare_deployed_categories in HP. destruct (bottom z classes) as [[first w]|] eqn:B; [|discriminate].
  destruct (fit_for_groups P G first) eqn:E; [|discriminate]. apply andb_prop in E as [E ONE]. apply andb_prop in E as [E1 E2]. apply Z.leb_le in E1.
  apply Z.eqb_eq in E2.
  destruct (widened P G) as [W' change] eqn:EW. destruct (deployed_by _ _ _ _ _ _ _ _ _ _ _ _) as [d'|] eqn:ED; [|discriminate]. injection HP as -> ->.
  assert (W = fst (widened P G)) as W1 by (rewrite EW; reflexivity). assert (change = snd (widened P G)) as W2 by (rewrite EW; reflexivity). subst W change.
  clear EW.
  assert (exists first, ends z first /\ inputs first = count P) as EX by (exists first; split; [exact (bottom_ends _ _ _ _ B)|exact E2]).
  apply (judged (fun net top => prepare net top (fst (widened P G)) (same_group (snd (widened P G)))) (widen (snd (widened P G)) (count (fst
    (widened P G)))) P (fst (widened P G)) (recategorise P G (snd (widened P G))) (same_group (snd (widened P G))) entries (by_categories P G) (numbers
    (attributes P)) A 0 nodes s bits z classes running_bits N d
    (fun net top p => prepared_sound net top _ _ p)) with (lines := lines); auto.
  - intros top net f -> NE EN. exact (widen_ends _ _ top net f NE EN).
  - intros X (Y & M & ->). exists (changes_made P G Y), (entries Y). apply (changes_stand P G E1); auto.
    + apply made_admissible; assumption.
    + apply made_apart; assumption.
    + apply made_describes; assumption.
    + intros n i NR. destruct M as (C & _). destruct (Bool.bool_dec (Y n i) (attributes P n i)) as [Q|Q]; [exact Q|]. destruct (C n i Q) as (_ & H & _).
      contradiction.
    + intros n i NR. destruct M as (C & _). apply (C n i NR).
  - intros F AD AP. set (Y := recategorise P G (snd (widened P G)) F). exists (entries Y), (numbers Y). split; [|split].
    + apply (changes_stand P G E1); auto; [apply result_describes; assumption| |].
      * intros n i NR. unfold Y, recategorise. destruct (Z.leb_spec 0 i); [destruct (Z.ltb_spec i (count P)); [lia|]|]; reflexivity.
      * intros n i NR. assert (recategorised P G Y) as (C & _) by (apply result_recategorised; assumption). apply (C n i NR).
    + exists Y. split; [apply result_recategorised; assumption|reflexivity].
    + intros n i NR. unfold entries in NR. fold Y. destruct (Y n i); [reflexivity|contradiction NR; reflexivity].
  - intros F AD. exists (entries (attributes P)). destruct (unchanged_stands P G E1 z F EX AD) as (_ & _ & SAME & READ & _). auto.
Qed.

Definition all_verified := (verified_deployed, verified_deployed_rows, verified_deployed_categories).
Print Assumptions all_verified.

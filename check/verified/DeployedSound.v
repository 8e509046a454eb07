(* Executions: the errors that `last_sums` gives are no smaller than real ones, and what is accepted of the network as it runs is true. *)
From Coq Require Import ZArith QArith Qabs Qpower List Bool Lia Lqa Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Leaf Sound Floats Roundings RoundedRow Arranged Deployed ComputedRow DeployedRows
  ArrangedSound.
Import ListNotations.
Open Scope Q_scope.

Lemma scaled_at_scaled base s : forall q z, scaled_at base s q z -> exists c, c == 2 ^ shift_of base s /\ scaled (2 ^ base) c q z.
Proof.
  induction s as [|[a w] rest IH]; intros [|q qs] [|z zs] H; try destruct H; [exists (2 ^ base); split; [reflexivity|constructor]|].
  destruct H0 as (T & I & R & B). destruct (IH qs zs H) as (c & E & S). exists (c * 2 ^ a * 2 ^ w). cbn [shift_of].
  split; [rewrite E, !two_power; reflexivity|].
  apply scaled_layer; auto using two_power_pos. intros m j. rewrite B, !two_power, E. reflexivity.
Qed.

Definition not_below_0 (s : shifts) : bool := forallb (fun e => Z.leb 0 (fst e) && Z.leb 0 (snd e)) s.

Lemma shift_nonneg base s : (0 <= base)%Z -> not_below_0 s = true -> (0 <= shift_of base s)%Z.
Proof.
  intros B. induction s as [|[a w] s IH]; [intros _; exact B|]. cbn [not_below_0 forallb shift_of fst snd]. intros H. apply andb_prop in H as [H1 H2]. apply andb_prop in H1 as [H1 H3].
  apply Z.leb_le in H1, H3. specialize (IH H2). lia.
Qed.

(* What a unit passes on whose exact sum is x. *)
Lemma passing_value (active : bool) k V x b e : Int (fst b) <= 2 ^ k * x <= Int (snd b) ->
  Qabs (2 ^ k * (V - x)) <= Int e ->
  2 ^ k * Qabs (rectified active V) <= Int (fst (pass active b e)) /\
  Qabs (2 ^ k * (rectified active V - rectified active x)) <= Int (snd (pass active b e)).
Proof.
  intros [B1 B2] D. unfold rectified. pose proof (two_power_pos k) as S0. set (S := 2 ^ k) in *. clearbody S.
  pose proof (Qle_trans _ _ _ (Qabs_nonneg _) D) as E0. apply abs_iff in D.
  assert (forall y, S * Qabs y == Qabs (S * y)) as AS by (intros y; rewrite Qabs_Qmult, (Qabs_pos S) by lra; reflexivity).
  unfold pass. destruct active.
  - destruct (Z.leb_spec (snd b + e) 0) as [L|L].
    + cbn [fst snd]. rewrite Zle_Qle, inject_Z_plus in L. change (Int 0) with 0 in *.
      assert (V <= 0 /\ x <= 0) as [VN XN] by (clear - L D B2 S0 E0; split; nra).
      assert (forall y, y <= 0 -> (if Qle_bool 0 y then y else 0) == 0) as Z0 by (intros y Y; destruct (Qle_bool 0 y) eqn:Q; [apply Qle_bool_iff in Q;
        lra|reflexivity]).
      rewrite (Z0 V VN), (Z0 x XN). change (Qabs 0) with 0. split; [lra|]. apply abs_iff. lra.
    + cbn [fst snd]. rewrite AS, !inject_Z_plus.
      assert (0 <= Int (pos (snd b)) /\ Int (snd b) <= Int (pos (snd b))) as [P1 P2] by (split; [change 0 with (Int 0)|]; rewrite <- Zle_Qle; unfold pos; lia).
      split; apply abs_iff;
        (destruct (Qle_bool 0 V) eqn:Q1; [apply Qle_bool_iff in Q1|assert (V < 0) by (apply Qnot_le_lt; intros C; apply Qle_bool_iff in C; congruence)]);
        try (destruct (Qle_bool 0 x) eqn:Q2; [apply Qle_bool_iff in Q2|assert (x < 0) by (apply Qnot_le_lt; intros C; apply Qle_bool_iff in C; congruence)]);
          split; nra.
  - cbn [fst snd]. rewrite AS, !inject_Z_plus. split; [|apply abs_iff; lra].
    assert (Int (- Z.max (Z.abs (fst b)) (Z.abs (snd b))) <= Int (fst b) /\ Int (snd b) <= Int (Z.max (Z.abs (fst b)) (Z.abs (snd b)))) as [P1 P2] by (split; rewrite <- Zle_Qle; lia).
    rewrite inject_Z_opp in P1. apply abs_iff. lra.
Qed.

Section Layers.
  Variables (A : arithmetic) (base : Z) (z : network Z) (s : shifts) (classes nodes : Z) (within : network Z -> Z -> Z -> option (list (Z * Z))).
  Variables (first_row : nat -> stage Z -> Z -> Z -> Z -> option received) (net : list (stage Z)) (qnet : list (stage Q)) (places : list place) (X : rows).
  (* What has been computed, and exact values, before and after relus. *)
  Variables (M E B : nat -> rows).
  Hypothesis PRECISION : (2 <= precision A)%Z.
  Hypothesis BASE : (0 <= base)%Z.
  Hypothesis SHIFTS : not_below_0 s = true.
  Hypothesis LAYERS : forall k l p, nth_error net k = Some l -> nth_error places k = Some p ->
    exists qk a w rest, skipn (layers_above p) s = (a, w) :: rest /\ nth_error qnet k = Some qk /\ scaled_stage base ((a, w) :: rest) qk l /\
      (forall n j, In n (ids nodes) -> In j (ids (wide p)) ->
        B k n j == stage_bias qk n j + sum (steps qk) (exact E n j) /\ E (S k) n j == rectified (rectifies qk j) (B k n j)) /\
      (forall n j t e, In n (ids nodes) -> In j (ids (wide p)) -> In t (steps qk) -> In e (operator t n) -> In (fst e) (ids nodes)) /\
      (forall t, In t (steps l) -> match read_layer t with
        | O => True
        | S i => (i < k)%nat /\ exists p', nth_error places i = Some p' /\ read_units t = wide p'
        end).
  Hypothesis ROWS : E O = X.
  Hypothesis WITHIN : forall k l p n b u, nth_error net k = Some l -> nth_error places k = Some p -> In n (ids nodes) ->
    let width := width_at z classes (layers_above p) in within (skipn (layers_above p) z) width n = Some b -> In (first_unit p + u)%Z (ids width) ->
    Int (fst (at_unit width b (first_unit p + u))) <= 2 ^ shift_of base (skipn (layers_above p) s) * B k n u <= Int (snd (at_unit width b (first_unit p + u))).
  Hypothesis FIRST : forall k l p w m r, nth_error net k = Some l -> nth_error places k = Some p ->
    first_row k (rows_part l) (heaviest (rows_part l) (wide p) w) (wide p) m = Some r -> receives (rows_part l) base m (wide p) (fun _ => M O) (fun _ => X) r.
  Hypothesis RUNS : forall k q, nth_error qnet k = Some q -> forall m j, exists v, adds_up A M q m j v /\ M (S k) m j == rectified (rectifies q j) v.

  Definition near (S : Q) (q : stage Q) (width m : Z) (exactly : Z -> Q) (x : received * (Z * Z)) : Prop :=
    (forall j v, In j (ids width) -> adds_up A M q m j v -> Qabs (S * (v - exactly j)) <= Int (error_of A x j)) /\
    (forall y other v v', In y (ids width) -> In other (ids width) -> adds_up A M q m y v -> adds_up A M q m other v' ->
      Qabs (S * (v - exactly y) - S * (v' - exactly other)) <= Int (pair_error A x y other)).

  (* One layer, for the inputs that it has. *)
  Lemma layer_near (ql : stage Q) (l : stage Z) (a w : Z) (rest : shifts) (width m : Z) (exactly : Z -> Q) (r : option received) x :
    (0 <= a /\ 0 <= w /\ 0 <= shift_of base rest)%Z -> Forall2 (scaled_step (2 ^ a) (2 ^ w)) (steps ql) (steps l) ->
    (forall m j, Int (stage_bias l m j) == 2 ^ (shift_of base rest + a + w) * stage_bias ql m j) ->
    same_readings (2 ^ (shift_of base rest + a + w)) ql l ->
    (forall j, In j (ids width) -> exactly j == stage_bias ql m j + sum (steps ql) (exact E m j)) ->
    (forall j r', In j (ids width) -> r = Some r' -> receives l (shift_of base rest) m width M E r') ->
    sums_of A l width (heaviest l width w) a (shift_of base rest + a + w) r m = Some x ->
    near (2 ^ (shift_of base rest + a + w)) ql width m exactly x.
  Proof.
    intros SH TERMS BIAS UNITS EX REC' SUMS. unfold sums_of in SUMS. destruct r as [rm|]; [|discriminate].
    destruct (fits _ _ _ _ _ _ _) eqn:FI; [|discriminate]. injection SUMS as <-.
    assert (forall j, In j (ids width) -> near (2 ^ (shift_of base rest + a + w)) ql width m exactly (rm, (roundings_of l m rm, underflow A rm (scale_of l rm (heaviest l width w) a m)))) as ALL;
      [|split; [intros j v Ij; exact (proj1 (ALL j Ij) j v Ij)|intros y other v v' Iy; exact (proj2 (ALL y Iy) y other v v' Iy)]].
    intros j0 Ij0. pose proof (REC' j0 rm Ij0 eq_refl) as REC. clear REC' j0 Ij0.
    set (sc := scale_of l rm (heaviest l width w) a m) in *. set (S := 2 ^ (shift_of base rest + a + w)).
    assert (0 <= roundings_of l m rm)%Z as RN by (pose proof (roundings_le ql l a w (shift_of base rest) m width M E rm TERMS UNITS REC); lia).
    pose proof (fun magnitude => relative_spec A PRECISION (roundings_of l m rm) magnitude) as RS. pose proof (underflow_spec A rm PRECISION sc) as US.
    set (Mi := middle l (shift_of base rest) m M). set (N := middle l (shift_of base rest) m E).
    assert (forall j v, In j (ids width) -> adds_up A M ql m j v -> let R := Int (roundings_of l m rm) * u A in
      Qabs (S * v - Mi j) <= (R + R * R) * Int (added rm j) + Int (underflow A rm sc)) as ROW.
    { intros j v Ij UP R.
      pose proof (computed_row A ql l a w (shift_of base rest) m width M E rm PRECISION SH TERMS BIAS UNITS REC FI j v Ij UP) as CR.
      cbv zeta in CR. fold S sc R Mi in CR. clear - CR US. lra. }
    assert (forall j, In j (ids width) -> S * exactly j == N j) as EXACT
      by (intros j Ij; rewrite (EX j Ij); apply (middle_exact ql l a w (shift_of base rest) m TERMS BIAS E j)).
    assert (forall j, Mi j - N j == sum (steps l) (fun t => sum (operator t m) (fun e => Int (snd e) * sum (ids (read_units t)) (fun i => 2 ^ shift_of base rest *
      (M (read_layer t) (fst e) i - E (read_layer t) (fst e) i) * Int (weight t i j))))) as MV.
    { intros j. unfold Mi, N, middle.
      match goal with |- ?b + ?R - (?b + ?R') == _ => setoid_replace (b + R - (b + R')) with (R + (-1 # 1) * R') by ring end.
      rewrite <- sum_times, <- sum_add. apply sum_eq. intros t _. rewrite <- sum_times, <- sum_add. apply sum_eq. intros e _.
      match goal with |- Int ?c * ?R + _ * (Int ?c * ?R') == _ => setoid_replace (Int c * R + (-1 # 1) * (Int c * R')) with (Int c * (R +
        (-1 # 1) * R')) by ring end.
      apply Qmult_comp; [reflexivity|]. rewrite <- sum_times, <- sum_add. apply sum_eq. intros i _. ring. }
    destruct REC as (_ & _ & _ & _ & INH & BETWEEN). cbn [fst snd] in *. set (R := Int (roundings_of l m rm) * u A) in *. clearbody N Mi. split.
    - intros j v Ij C. specialize (ROW j v Ij C). cbv zeta in ROW. specialize (RS (added rm j) RN). cbv zeta in RS. fold R in RS.
      pose proof (INH j Ij) as IJ. rewrite <- MV in IJ. unfold error_of. cbn [fst snd]. rewrite !inject_Z_plus.
      setoid_replace (S * (v - exactly j)) with ((S * v - Mi j) + (Mi j - N j)) by (rewrite <- (EXACT j Ij); ring).
      eapply Qle_trans; [apply Qabs_triangle|]. clear - ROW RS IJ. lra.
    - intros y' other v v' Iy Io C C'. pose proof (ROW y' v Iy C) as R1. pose proof (ROW other v' Io C') as R2. cbv zeta in R1, R2.
      specialize (RS (added rm y' + added rm other)%Z RN). cbv zeta in RS. fold R in RS. rewrite inject_Z_plus in RS.
      pose proof (BETWEEN y' other Iy Io) as IJ. cbv beta in IJ. unfold pair_error. cbn [fst snd]. rewrite !inject_Z_plus, inject_Z_mult. change (Int 2) with 2.
      rewrite (sum_eq (steps l) _ (fun t => sum (operator t m) (fun e => Int (snd e) * sum (ids (read_units t)) (fun i => 2 ^ shift_of base rest *
        (M (read_layer t) (fst e) i - E (read_layer t) (fst e) i) * Int (weight t i y'))) +
        (-1 # 1) * sum (operator t m) (fun e => Int (snd e) * sum (ids (read_units t)) (fun i => 2 ^ shift_of base rest *
        (M (read_layer t) (fst e) i - E (read_layer t) (fst e) i) * Int (weight t i other))))) in IJ.
      + rewrite sum_add, sum_times, <- !MV in IJ.
        setoid_replace (S * (v - exactly y') - S * (v' - exactly other)) with
          ((S * v - Mi y') - (S * v' - Mi other) + (Mi y' - N y' + (-1 # 1) * (Mi other - N other))) by (rewrite <- (EXACT y' Iy), <- (EXACT other Io); ring).
        eapply Qle_trans; [apply Qabs_triangle|]. apply abs_iff in R1, R2.
        assert (Qabs (S * v - Mi y' - (S * v' - Mi other)) <= (R + R * R) * Int (added rm y') + Int (underflow A rm sc) + ((R + R * R) * Int
          (added rm other) + Int (underflow A rm sc))) as R3
          by (apply abs_iff; clear - R1 R2; lra).
        clear - R3 RS IJ. lra.
      + intros t _. rewrite <- sum_times, <- sum_add. apply sum_eq. intros e _.
        match goal with |- _ == Int ?c * ?R + _ * (Int ?c * ?R') => setoid_replace (Int c * R + (-1 # 1) * (Int c * R')) with (Int c * (R +
          (-1 # 1) * R')) by ring end.
        apply Qmult_comp; [reflexivity|]. rewrite <- sum_times, <- sum_add. apply sum_eq. intros i _. unfold Z.sub. rewrite inject_Z_plus, inject_Z_opp. ring.
  Qed.

  (* What is known of layers 1 to k. *)
  Definition right_of (i : nat) (p : place) (e : Z) (known : table passing) : Prop := forall n u, In n (ids nodes) -> is_known (get known n) = true -> In u (ids (wide p)) ->
    2 ^ e * Qabs (M (S i) n u) <= Int (fst (passed (get known n) u)) /\ Qabs (2 ^ e * (M (S i) n u - E (S i) n u)) <= Int (snd (passed (get known n) u)).
  Definition knows (k : nat) (known : list (Z * table passing)) : Prop := length known = S k /\ forall i p, (i < k)%nat -> nth_error places i = Some p ->
    exists e t, nth_error known (S i) = Some (e, t) /\ right_of i p e t.

  Lemma right_lifted i p e t k : (0 <= k)%Z -> right_of i p e t -> right_of i p (e + k) (lifted_table (2 ^ k) t).
  Proof.
    intros K0 H n u In' K Iu. unfold lifted_table in *. destruct (Z.eqb_spec (2 ^ k) 1) as [E1|].
    - assert (2 ^ (e + k) == 2 ^ e) as -> by (rewrite two_power, <- (inject_two_power k K0), E1; ring). exact (H n u In' K Iu).
    - rewrite get_tabulate in *. destruct (get t n) as [tn|] eqn:G; [|discriminate]. specialize (H n u In'). rewrite G in H. specialize (H eq_refl Iu).
      cbn [passed] in *. rewrite get_tabulate. cbn [fst snd]. destruct H as [H1 H2]. rewrite !inject_Z_mult, (inject_two_power k K0). pose proof (two_power_pos k) as PK.
      assert (2 ^ (e + k) == 2 ^ k * 2 ^ e) as -> by (rewrite two_power; ring). split.
      + rewrite <- Qmult_assoc. apply Qmult_le_l; assumption.
      + rewrite <- Qmult_assoc, Qabs_Qmult, (Qabs_pos (2 ^ k)) by (apply Qlt_le_weak; exact PK). apply Qmult_le_l; assumption.
  Qed.

  Lemma suffix_nonneg d : (0 <= shift_of base (skipn d s))%Z.
  Proof.
    apply shift_nonneg; [exact BASE|]. unfold not_below_0 in *. rewrite forallb_forall in *. intros e I. apply SHIFTS. rewrite <- (firstn_skipn d s). apply in_or_app. auto.
  Qed.

  Lemma received_right k l p qk a w rest known m r j : nth_error net k = Some l -> nth_error places k = Some p -> skipn (layers_above p) s = (a, w) :: rest ->
    nth_error qnet k = Some qk -> knows k known -> In m (ids nodes) -> In j (ids (wide p)) ->
    receive base first_row k l (rows_part l) (later_part l) (wide p) w (shift_of base rest) (brought (shift_of base rest) known) m = Some r ->
    receives l (shift_of base rest) m (wide p) M E r.
  Proof.
    intros NL NP ES NQ (LK & KN) Im Ij R. destruct (LAYERS k l p NL NP) as (qk' & a' & w' & rest' & ES' & NQ' & (ST & _) & _ & RANGE & READS).
    rewrite NQ in NQ'. injection NQ' as <-. rewrite ES in ES'. injection ES' as <- <- <-.
    unfold receive in R. destruct (receive_later _ _ _ _) as [r'|] eqn:RL; [|discriminate].
    apply (receive_later_spec (later_part l) (shift_of base rest) M E _ m) with (width := wide p) in RL.
    - destruct (steps (rows_part l)) as [|t0 ts0] eqn:SR; [injection R as <-; apply later_alone; assumption|].
      destruct (first_row _ _ _ _ _) as [r0|] eqn:RF; [|discriminate]. destruct (Z.leb_spec base (shift_of base rest)) as [LB|]; [|discriminate]. injection R as <-.
      apply together_receives; [|exact RL]. apply (FIRST k l p w m r0 NL NP) in RF.
      replace (shift_of base rest) with (base + (shift_of base rest - base))%Z at 1 by lia. apply lifted_receives; [lia|reflexivity| |exact BASE].
      refine (receives_same _ _ _ _ _ _ _ _ _ _ RF). intros t It. cbn [rows_part steps] in It. apply filter_In in It as [_ It]. apply Nat.eqb_eq in It. rewrite It, ROWS. auto.
    - intros t e i It Ie K Ii. cbn [later_part steps] in It. apply filter_In in It as [It N0]. apply negb_true_iff, Nat.eqb_neq in N0. specialize (READS t It).
      destruct (read_layer t) as [|i0] eqn:RT; [contradiction|]. destruct READS as (LT & p' & NP' & RU). destruct (KN i0 p' LT NP') as (e0 & t0 & NK & RO).
      assert (nth (S i0) (brought (shift_of base rest) known) nothing_passed = if Z.leb e0 (shift_of base rest) then lifted_table (2 ^ (shift_of base rest - e0)) t0 else nothing_passed) as NT.
      { unfold brought. apply nth_error_nth. rewrite nth_error_map, NK. reflexivity. }
      rewrite NT in *. destruct (Z.leb_spec e0 (shift_of base rest)) as [L|L]; [|unfold nothing_passed in K; rewrite get_tabulate in K; discriminate].
      pose proof (right_lifted i0 p' e0 t0 (shift_of base rest - e0) ltac:(lia) RO) as RL'. replace (e0 + (shift_of base rest - e0))%Z with (shift_of base rest) in RL' by lia.
      apply RL'; [|exact K|rewrite <- RU; exact Ii].
      clear - ST It Ie RANGE Im Ij. assert (exists tq, In tq (steps qk) /\ scaled_step (2 ^ a) (2 ^ w) tq t) as (tq & Iq & ([TO _] & _)).
      { induction ST as [|tq t' tqs ts T ST IH]; [destruct It|]. destruct It as [->|It]; [exists tq; split; [left; reflexivity|exact T]|].
        destruct IH as (tq' & I' & T'); [intros n j0 t1 e1 A1 A2 A3; apply (RANGE n j0 t1 e1 A1 A2); right; exact A3|exact It|]. exists tq'. split; [right; exact I'|exact T']. }
      specialize (TO m). assert (exists eq, In eq (operator tq m) /\ fst eq = fst e) as (eq & Ieq & <-).
      { clear - TO Ie. induction TO as [|x y xs ys [XY _] TO IH]; [destruct Ie|]. destruct Ie as [->|Ie]; [exists x; split; [left; reflexivity|exact XY]|].
        destruct (IH Ie) as (x' & I' & E'). exists x'. split; [right; exact I'|exact E']. }
      exact (RANGE m j tq eq Im Ij Iq Ieq).
  Qed.

  Lemma stage_near k l p known m x : nth_error net k = Some l -> nth_error places k = Some p -> knows k known -> In m (ids nodes) ->
    get (stage_sums A base s first_row k l p known) m = Some x ->
    exists qk, nth_error qnet k = Some qk /\ near (2 ^ shift_of base (skipn (layers_above p) s)) qk (wide p) m (B k m) x.
  Proof.
    intros NL NP KN Im G. destruct (LAYERS k l p NL NP) as (qk & a & w & rest & ES & NQ & (ST & SR & SB & SU) & VAL & RANGE & READS). exists qk. split; [exact NQ|].
    unfold stage_sums in G. pose proof (suffix_nonneg (S (layers_above p))) as S0. rewrite ES in G |- *. rewrite get_tabulate in G. cbn [shift_of].
    assert (skipn (S (layers_above p)) s = rest) as ER by (exact (proj1 (skipn_cons _ _ _ _ ES))). rewrite ER in S0.
    assert (0 <= a /\ 0 <= w)%Z as [A0 W0].
    { unfold not_below_0 in SHIFTS. rewrite forallb_forall in SHIFTS. specialize (SHIFTS (a, w)).
      assert (In (a, w) s) as I by (apply (nth_error_In s (layers_above p)); exact (proj2 (skipn_cons _ _ _ _ ES))). specialize (SHIFTS I).
      apply andb_prop in SHIFTS as [H1 H2]. apply Z.leb_le in H1, H2. auto. }
    refine (layer_near qk l a w rest (wide p) m (B k m) _ x (conj A0 (conj W0 S0)) ST SB SU _ _ G).
    - intros j Ij. exact (proj1 (VAL m j Im Ij)).
    - intros j r' Ij R. exact (received_right k l p qk a w rest known m r' j NL NP ES NQ KN Im Ij R).
  Qed.

  Lemma passing_near k l p known : nth_error net k = Some l -> nth_error places k = Some p -> knows k known ->
    right_of k p (shift_of base (skipn (layers_above p) s)) (passing_of A z classes within l p (stage_sums A base s first_row k l p known)).
  Proof.
    intros NL NP KN n u In' K Iu. unfold passing_of in *. rewrite get_tabulate in *. destruct (get (stage_sums _ _ _ _ _ _ _ _) n) as [x|] eqn:G; [|discriminate].
    destruct (within _ _ n) as [b|] eqn:W; [|discriminate]. destruct (_ && _) eqn:C; [|discriminate]. apply andb_prop in C as [C1 C2]. apply Z.leb_le in C1, C2.
    destruct (stage_near k l p known n x NL NP KN In' G) as (qk & NQ & NE & _).
    destruct (LAYERS k l p NL NP) as (qk' & a & w & rest & ES & NQ' & (_ & SR & _) & VAL & _ & _). rewrite NQ in NQ'. injection NQ' as <-.
    destruct (VAL n u In' Iu) as [_ VE]. destruct (RUNS k qk NQ n u) as (v & CO & MV). specialize (NE u v Iu CO).
    cbn [passed]. rewrite get_tabulate, VE, MV, SR. apply passing_value; [|exact NE].
    apply (WITHIN k l p n b u NL NP In' W). apply ids_in in Iu. apply ids_in. lia.
  Qed.

  Lemma all_near : forall rest ps k known, (forall i l, nth_error rest i = Some l -> nth_error net (k + i) = Some l) ->
    (forall i p, nth_error ps i = Some p -> nth_error places (k + i) = Some p) -> knows k known -> forall m x, In m (ids nodes) ->
    get (all_sums A base z s classes within first_row k rest ps known) m = Some x ->
    exists l p qk, nth_error net (k + pred (length rest)) = Some l /\ nth_error places (k + pred (length rest)) = Some p /\
      nth_error qnet (k + pred (length rest)) = Some qk /\ rest <> [] /\
      near (2 ^ shift_of base (skipn (layers_above p) s)) qk (wide p) m (B (k + pred (length rest)) m) x.
  Proof.
    induction rest as [|l rest IH]; intros ps k known NN NP KN m x Im G; [cbn [all_sums] in G; rewrite get_tabulate in G; discriminate|].
    destruct ps as [|p ps]; [cbn [all_sums] in G; rewrite get_tabulate in G; discriminate|]. cbn [all_sums] in G.
    pose proof (NN 0%nat l eq_refl) as NL. pose proof (NP 0%nat p eq_refl) as NP'. rewrite Nat.add_0_r in NL, NP'. destruct rest as [|l' rest].
    - destruct (stage_near k l p known m x NL NP' KN Im G) as (qk & NQ & NE). cbn [length pred]. rewrite Nat.add_0_r. exists l, p, qk.
      repeat (split; [first [assumption|discriminate]|]). exact NE.
    - assert (length (l :: l' :: rest) = S (length (l' :: rest))) as EL by reflexivity.
      destruct (IH ps (S k) (known ++ [(shift_of base (skipn (layers_above p) s), passing_of A z classes within l p (stage_sums A base s first_row k l p known))])) with (m := m) (x := x)
        as (l0 & p0 & qk & N1 & N2 & N3 & _ & NE); auto.
      + intros i l0 N. rewrite Nat.add_succ_l, plus_n_Sm. exact (NN (S i) l0 N).
      + intros i p0 N. rewrite Nat.add_succ_l, plus_n_Sm. exact (NP (S i) p0 N).
      + destruct KN as [LK KN']. split; [rewrite app_length, LK; cbn [length]; lia|]. intros i p0 LT NP0. destruct (Nat.eq_dec i k) as [->|NE].
        * rewrite NP' in NP0. injection NP0 as <-. eexists. eexists. split; [rewrite nth_error_app2 by lia; rewrite LK, Nat.sub_diag; reflexivity|].
          apply passing_near; auto. split; assumption.
        * destruct (KN' i p0 ltac:(lia) NP0) as (e & t & NK & RO). exists e, t. split; [rewrite nth_error_app1 by lia; exact NK|exact RO].
      + assert (k + pred (length (l :: l' :: rest)) = S k + pred (length (l' :: rest)))%nat as EI by (cbn [length pred]; lia). rewrite EI.
        exists l0, p0, qk. repeat (split; [first [assumption|discriminate]|]). exact NE.
  Qed.

  (* A margin that exceeds the error is one of every execution. *)
  Lemma margin_near p t x y other : length qnet = length net -> nth_error places (pred (length net)) = Some p -> wide p = classes ->
    (forall l j, nth_error net (pred (length net)) = Some l -> In j (ids classes) -> rectifies l j = false) ->
    In t (ids nodes) -> get (last_sums A base z s classes within first_row net places) t = Some x -> In y (ids classes) -> In other (ids classes) ->
    Int (pair_error A x y other) < 2 ^ shift_of base (skipn (layers_above p) s) * (B (pred (length net)) t y - B (pred (length net)) t other) ->
    M (length qnet) t other < M (length qnet) t y.
  Proof.
    intros LQ NP WI RE It G Hy Ho MA. unfold last_sums in G.
    destruct (all_near net places 0 [(base, nothing_passed)]) with (m := t) (x := x) as (l & p' & qk & N1 & N2 & N3 & NE & (_ & N4)); auto.
    { split; [reflexivity|]. intros i p0 LT. lia. }
    cbn [Nat.add] in *. rewrite NP in N2. injection N2 as <-. rewrite WI in N4.
    assert (length qnet = S (pred (length net))) as EL by (rewrite LQ; destruct net; [contradiction|reflexivity]). rewrite EL.
    destruct (LAYERS _ _ _ N1 NP) as (qk' & a & w & rest & _ & NQ' & (_ & SR & _) & _). rewrite N3 in NQ'. injection NQ' as <-.
    destruct (RUNS _ _ N3 t y) as (v & C & ->). destruct (RUNS _ _ N3 t other) as (v' & C' & ->). rewrite !SR, (RE l y N1 Hy), (RE l other N1 Ho). cbn [rectified].
    specialize (N4 y other v v' Hy Ho C C').
    pose proof (two_power_pos (shift_of base (skipn (layers_above p) s))) as S0. set (S := 2 ^ shift_of base (skipn (layers_above p) s)) in *. clearbody S.
    apply abs_iff in N4 as [N4 _]. set (b := B _ t y) in *. set (b' := B _ t other) in *.
    set (e := Int (pair_error A x y other)) in *. clearbody b b' e. apply (Qmult_lt_l _ _ S S0). clear - MA N4. lra.
  Qed.
End Layers.

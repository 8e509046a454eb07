(* Executions: the errors that `all_sums` gives are no smaller than real ones, and what is accepted of the network as it runs is true. *)
From Coq Require Import ZArith QArith Qabs Qpower List Bool Lia Lqa Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Leaf Sound Floats Roundings RoundedRow Deployed ComputedRow DeployedRows.
Import ListNotations.
Open Scope Q_scope.

(* The integer network is the rational one, each layer's operators and weights times these powers of two. *)
Fixpoint scaled_at (base : Z) (s : shifts) (q : network Q) (z : network Z) : Prop :=
  match s, q, z with
  | [], [], [] => True
  | (a, w) :: rest, ql :: qs, zl :: zs =>
      scaled_at base rest qs zs /\ Forall2 (scaled_term (2 ^ a) (2 ^ w)) (terms ql) (terms zl) /\ inputs ql = inputs zl /\ (forall j, relu ql j = relu zl j) /\
      (forall m j, Int (bias zl m j) == 2 ^ (shift_of base rest + a + w) * bias ql m j)
  | _, _, _ => False
  end.

Definition not_below_0 (s : shifts) : bool := forallb (fun e => Z.leb 0 (fst e) && Z.leb 0 (snd e)) s.

Lemma shift_nonneg base s : (0 <= base)%Z -> not_below_0 s = true -> (0 <= shift_of base s)%Z.
Proof.
  intros B. induction s as [|[a w] s IH]; [intros _; exact B|]. cbn [not_below_0 forallb shift_of fst snd]. intros H. apply andb_prop in H as [H1 H2]. apply andb_prop in H1 as [H1 H3].
  apply Z.leb_le in H1, H3. specialize (IH H2). lia.
Qed.

(* What a unit passes on. *)
Lemma passing_value (q : layer Q) (qs : network Q) l zs k V i z b e : (forall j, relu q j = relu l j) -> (fst b <= z <= snd b)%Z -> Qabs (2 ^ k * V - Int z) <= Int e ->
  2 ^ k * Qabs (passed_on (q :: qs) i V) <= Int (fst (pass (relu l i) b e)) /\
  Qabs (2 ^ k * passed_on (q :: qs) i V - Int (zpassed (l :: zs) i z)) <= Int (snd (pass (relu l i) b e)).
Proof.
  intros R [B1 B2] D. cbn [passed_on zpassed]. rewrite R. pose proof (two_power_pos k) as S0. set (S := 2 ^ k) in *. clearbody S.
  rewrite Zle_Qle in B1, B2. pose proof (Qle_trans _ _ _ (Qabs_nonneg _) D) as E0. apply abs_iff in D.
  assert (forall x, S * Qabs x == Qabs (S * x)) as AS by (intros x; rewrite Qabs_Qmult, (Qabs_pos S) by lra; reflexivity).
  unfold pass. destruct (relu l i).
  - destruct (Z.leb_spec (snd b + e) 0) as [L|L].
    + cbn [fst snd]. rewrite Zle_Qle, inject_Z_plus in L. change (Int 0) with 0 in *.
      assert (V <= 0) as VN by (clear - L D B2 S0; nra).
      assert ((if Qle_bool 0 V then V else 0) == 0) as Z0.
      { destruct (Qle_bool 0 V) eqn:Q; [apply Qle_bool_iff in Q; lra|reflexivity]. }
      assert (pos z = 0%Z) as Zz by (unfold pos; assert (z <= 0)%Z by (rewrite Zle_Qle; change (Int 0) with 0; lra); lia). rewrite Zz, Z0. change (Int 0) with 0. change (Qabs 0) with 0.
      split; [lra|]. apply abs_iff. lra.
    + cbn [fst snd]. rewrite AS, !inject_Z_plus.
      assert (Int (pos z) == if Qle_bool 0 (Int z) then Int z else 0) as PZ.
      { unfold pos. destruct (Qle_bool 0 (Int z)) eqn:Q; [apply Qle_bool_iff in Q; change 0 with (Int 0) in Q; rewrite <- Zle_Qle in Q; rewrite Z.max_l by lia; reflexivity|].
        rewrite Z.max_r; [reflexivity|]. destruct (Z_le_gt_dec 0 z) as [Lz|]; [|lia]. rewrite Zle_Qle in Lz. apply Qle_bool_iff in Lz. change (Int 0) with 0 in Lz. congruence. }
      assert (0 <= Int (pos (snd b)) /\ Int (snd b) <= Int (pos (snd b))) as [P1 P2] by (split; [change 0 with (Int 0)|]; rewrite <- Zle_Qle; unfold pos; lia).
      rewrite PZ. clear PZ. split; apply abs_iff;
        (destruct (Qle_bool 0 V) eqn:Q1; [apply Qle_bool_iff in Q1|assert (V < 0) by (apply Qnot_le_lt; intros C; apply Qle_bool_iff in C; congruence)]);
        try (destruct (Qle_bool 0 (Int z)) eqn:Q2; [apply Qle_bool_iff in Q2|assert (Int z < 0) by (apply Qnot_le_lt; intros C; apply Qle_bool_iff in C; congruence)]); split; nra.
  - cbn [fst snd]. rewrite AS, !inject_Z_plus. split; [|apply abs_iff; lra].
    assert (Int (- Z.max (Z.abs (fst b)) (Z.abs (snd b))) <= Int (fst b) /\ Int (snd b) <= Int (Z.max (Z.abs (fst b)) (Z.abs (snd b)))) as [P1 P2] by (split; rewrite <- Zle_Qle; lia).
    rewrite inject_Z_opp in P1. apply abs_iff. lra.
Qed.

Section Layers.
  Variables (A : arithmetic) (base : Z) (P P0 : problem) (F : list flip) (z : network Z) (top : Z) (first : layer Z) (width0 : Z) (p q : prepared).
  Variables (reading : (Z -> Z -> bool) -> zrows) (read : (Z -> Z -> bool) -> rows).
  Hypothesis PRECISION : (2 <= precision A)%Z.
  Hypothesis ENTRIES : (1 <= entry_error A)%Z.
  Hypothesis BASE : (0 <= base)%Z.
  Hypothesis SOUND : sound z top P0 no_rivals reading p.
  Hypothesis SOUND_FIRST : sound [absolute first] width0 P0 no_rivals reading q.
  Hypothesis MISSING : forall X n d, X n d = false -> reading X n d = 0%Z.
  Hypothesis UNIT : forall X n d, (0 <= reading X n d <= 2 ^ base)%Z.
  Hypothesis READ : forall X n d, Int (reading X n d) == 2 ^ base * read X n d.
  Hypothesis COUNT : count P = count P0.
  Hypothesis ADMISSIBLE : admissible P F.
  Hypothesis FIRST : ends z first.
  Let Y := flipped (attributes P) F.
  Let value (net : network Z) := zvalue net (reading Y).

  Definition near_values (s : shifts) (net : network Z) (l : layer Z) (width : Z) (V : rows) (sums : table summing) : Prop := forall m x, get sums m = Some x ->
    let e j := 2 ^ shift_of base s * V m j - Int (value net m j) in
    (forall j, In j (ids width) -> Qabs (e j) <= Int (error_of A l x j)) /\
    (forall y other, In y (ids width) -> In other (ids width) -> Qabs (e y - e other) <= Int (pair_error A x y other)).

  (* One layer, for the inputs that it has. *)
  Lemma layer_near (ql : layer Q) (qs : network Q) (l : layer Z) (below : network Z) (a w : Z) (rest : shifts) (width : Z) (H V : rows) (sums : table summing) (r : Z -> option received) :
    (0 <= a /\ 0 <= w /\ 0 <= shift_of base rest)%Z -> Forall2 (scaled_term (2 ^ a) (2 ^ w)) (terms ql) (terms l) -> inputs ql = inputs l ->
    (forall m j, Int (bias l m j) == 2 ^ (shift_of base rest + a + w) * bias ql m j) ->
    (forall m j, exists groups summands b, Permutation (concat groups) (terms ql) /\ becomes A 1 (bias ql m j) b /\
      Forall2 (adds A ql (fun n i => passed_on qs i (H n i)) m j) groups summands /\ summed A (b :: concat summands) (V m j)) ->
    (forall m x, r m = Some x -> receives l (shift_of base rest) m width (fun n i => passed_on qs i (H n i)) (fun n i => zpassed below i (value below n i)) x) ->
    (forall m, get sums m = sums_of A l width (heaviest l width w) a (shift_of base ((a, w) :: rest)) (r m) m) ->
    near_values ((a, w) :: rest) (l :: below) l width V sums.
  Proof.
    intros SH TERMS IN BIAS RUN REC SUMS m x G. rewrite SUMS in G. unfold sums_of in G. destruct (r m) as [rm|] eqn:ER; [|discriminate].
    destruct (fits _ _ _ _ _ _ _) eqn:FI; [|discriminate]. injection G as <-. specialize (REC m rm ER). cbn [shift_of] in *.
    set (h := fun n i => passed_on qs i (H n i)) in *. set (y := fun n i => zpassed below i (value below n i)) in *.
    set (sc := scale_of l rm (heaviest l width w) a m) in *. set (S := 2 ^ (shift_of base rest + a + w)).
    assert (0 <= roundings_of A rm)%Z as RN by (pose proof (roundings_le A ql l a w (shift_of base rest) m width h y rm ENTRIES TERMS IN REC); lia).
    pose proof (relative_spec A rm PRECISION) as RS. pose proof (underflow_spec A rm PRECISION sc) as US.
    assert (forall j, In j (ids width) -> let X := Int (roundings_of A rm) * u A in
      Qabs (S * V m j - middle l (shift_of base rest) m h j) <= (X + X * X) * Int (added rm j) + Int (underflow A rm sc)) as ROW.
    { intros j Ij X. destruct (RUN m j) as (groups & summands & b & PE & Bb & FA & SU).
      pose proof (computed_row A ql l a w (shift_of base rest) m width h y rm PRECISION ENTRIES SH TERMS IN BIAS REC FI j groups summands b (V m j) Ij PE Bb FA SU) as CR.
      cbv zeta in CR. fold S sc X in CR. clear - CR US. lra. }
    assert (forall j, middle l (shift_of base rest) m h j - Int (value (l :: below) m j) ==
      sum (terms l) (fun t => sum (operator t m) (fun e => Int (snd e) * sum (ids (inputs l)) (fun i => (2 ^ shift_of base rest * h (fst e) i - Int (y (fst e) i)) * Int (weight t i j))))) as MV.
    { intros j. unfold middle, value. cbn [zvalue]. rewrite inject_Z_plus, sum_inject.
      rewrite (sum_eq (terms l) (fun t => Int (zsum (operator t m) _)) (fun t => sum (operator t m) (fun e => Int (snd e) * sum (ids (inputs l)) (fun i => Int (y (fst e) i) * Int (weight t i j))))).
      - match goal with |- ?b + ?X - (?b + ?Y) == _ => setoid_replace (b + X - (b + Y)) with (X + (-1 # 1) * Y) by ring end.
        rewrite <- sum_times, <- sum_add. apply sum_eq. intros t _. rewrite <- sum_times, <- sum_add. apply sum_eq. intros e _.
        match goal with |- Int ?c * ?X + _ * (Int ?c * ?Y) == _ => setoid_replace (Int c * X + (-1 # 1) * (Int c * Y)) with (Int c * (X + (-1 # 1) * Y)) by ring end.
        apply Qmult_comp; [reflexivity|]. rewrite <- sum_times, <- sum_add. apply sum_eq. intros i _. ring.
      - intros t _. rewrite sum_inject. apply sum_eq. intros e _. rewrite inject_Z_mult. apply Qmult_comp; [reflexivity|]. rewrite sum_inject. apply sum_eq. intros i _. rewrite inject_Z_mult. reflexivity. }
    destruct REC as (_ & _ & _ & _ & INH). cbn [fst snd] in *. set (M := middle l (shift_of base rest) m h) in *. set (X := Int (roundings_of A rm) * u A) in *. split.
    - intros j Ij. specialize (ROW j Ij). cbv zeta in ROW. specialize (RS (added rm j) RN). cbv zeta in RS. fold X in RS.
      pose proof (INH (fun t i => weight t i j)) as IJ. rewrite <- MV in IJ. unfold error_of. cbn [fst snd]. rewrite !inject_Z_plus.
      cbv beta zeta. setoid_replace (S * V m j - Int (value (l :: below) m j)) with ((S * V m j - M j) + (M j - Int (value (l :: below) m j))) by ring.
      eapply Qle_trans; [apply Qabs_triangle|]. clear - ROW RS IJ. lra.
    - intros y' other Iy Io. pose proof (ROW y' Iy) as R1. pose proof (ROW other Io) as R2. cbv zeta in R1, R2. fold X in R1, R2.
      specialize (RS (added rm y' + added rm other)%Z RN). cbv zeta in RS. fold X in RS. rewrite inject_Z_plus in RS.
      pose proof (INH (fun t i => (weight t i y' - weight t i other)%Z)) as IJ. unfold pair_error. cbn [fst snd]. rewrite !inject_Z_plus, inject_Z_mult. change (Int 2) with 2.
      rewrite (sum_eq (terms l) _ (fun t => sum (operator t m) (fun e => Int (snd e) * sum (ids (inputs l)) (fun i => (2 ^ shift_of base rest * h (fst e) i - Int (y (fst e) i)) * Int (weight t i y'))) +
        (-1 # 1) * sum (operator t m) (fun e => Int (snd e) * sum (ids (inputs l)) (fun i => (2 ^ shift_of base rest * h (fst e) i - Int (y (fst e) i)) * Int (weight t i other))))) in IJ.
      + rewrite sum_add, sum_times, <- !MV in IJ. cbv beta zeta.
        setoid_replace (S * V m y' - Int (value (l :: below) m y') - (S * V m other - Int (value (l :: below) m other))) with
          ((S * V m y' - M y') - (S * V m other - M other) + (M y' - Int (value (l :: below) m y') + (-1 # 1) * (M other - Int (value (l :: below) m other)))) by ring.
        eapply Qle_trans; [apply Qabs_triangle|]. apply abs_iff in R1, R2.
        assert (Qabs (S * V m y' - M y' - (S * V m other - M other)) <= (X + X * X) * Int (added rm y') + Int (underflow A rm sc) + ((X + X * X) * Int (added rm other) + Int (underflow A rm sc))) as R3
          by (apply abs_iff; clear - R1 R2; lra).
        clear - R3 RS IJ. lra.
      + intros t _. rewrite <- sum_times, <- sum_add. apply sum_eq. intros e _.
        match goal with |- _ == Int ?c * ?X + _ * (Int ?c * ?Y) => setoid_replace (Int c * X + (-1 # 1) * (Int c * Y)) with (Int c * (X + (-1 # 1) * Y)) by ring end.
        apply Qmult_comp; [reflexivity|]. rewrite <- sum_times, <- sum_add. apply sum_eq. intros i _. unfold Z.sub. rewrite inject_Z_plus, inject_Z_opp. ring.
  Qed.

  Lemma no_bounds_whole net V : zwhole no_bounds net V.
  Proof. induction net as [|l below IH]; cbn [zwhole]; auto. split; [discriminate|exact IH]. Qed.

  (* Units of a layer whose sums are near. *)
  Lemma passing_near (ql : layer Q) (qs : network Q) (l : layer Z) (below : network Z) (s : shifts) (width : Z) (V : rows) (sums : table summing) :
    (forall first, ends z first -> ends (l :: below) first) -> (forall j, relu ql j = relu l j) -> near_values s (l :: below) l width V sums ->
    let known := passing_of A (view_of p P) (l :: below) l width sums in
    forall n i, is_known (get known n) = true -> In i (ids width) ->
      2 ^ shift_of base s * Qabs (passed_on (ql :: qs) i (V n i)) <= Int (fst (passed (get known n) i)) /\
      Qabs (2 ^ shift_of base s * passed_on (ql :: qs) i (V n i) - Int (zpassed (l :: below) i (value (l :: below) n i))) <= Int (snd (passed (get known n) i)).
  Proof.
    intros EN R NEAR known n i K Ii. unfold known, passing_of in *. rewrite get_tabulate in *. destruct (get sums n) as [x|] eqn:G; [|discriminate].
    pose proof (intervals_hold _ _ _ _ _ _ SOUND P F no_bounds no_hints false (l :: below) width [n] COUNT ADMISSIBLE EN (no_bounds_whole _ _)) as IV. fold Y in IV.
    destruct (intervals_of (view_of p P) no_bounds no_hints false (l :: below) width [n]) as [[|[n' b] [|]]| |]; try discriminate.
    destruct (Z.eqb_spec n' n) as [->|]; [|discriminate]. specialize (IV n b (or_introl eq_refl)). cbn [passed]. rewrite get_tabulate.
    apply passing_value; [exact R|apply (at_unit_spec _ _ _ _ IV Ii)|]. exact (proj1 (NEAR n x G) i Ii).
  Qed.

  Lemma sums_near : forall (net : network Z) (s : shifts) (qn : network Q) (width : Z) (V : rows),
    (forall first, ends z first -> ends net first) -> scaled_at base s qn net -> not_below_0 s = true -> execution A qn (read Y) V ->
    match net with l :: _ => near_values s net l width V (all_sums A base P (view_of p P) (view_of q P) net s width) | [] => True end.
  Proof.
    induction net as [|l below IH]; intros s qn width V EN SC NN EX; [exact I|].
    destruct s as [|[a w] rest]; [destruct qn; destruct SC|]. destruct qn as [|ql qs]; [destruct SC|]. destruct SC as (SC & TERMS & IN & R & BIAS).
    assert (not_below_0 rest = true /\ (0 <= a /\ 0 <= w)%Z) as (NN' & A0 & W0).
    { cbn [not_below_0 forallb fst snd] in NN. apply andb_prop in NN as [N1 N2]. apply andb_prop in N1 as [N1 N3]. apply Z.leb_le in N1, N3. auto. }
    pose proof (shift_nonneg base rest BASE NN') as S0. cbn [execution] in EX. destruct EX as (H & EXB & RUN).
    destruct below as [|l' below'].
    - destruct rest as [|[a' w'] rest]; [|destruct qs; destruct SC]. destruct qs as [|]; [|destruct SC]. specialize (EN first FIRST). cbn [ends] in EN. subst l.
      apply (layer_near ql [] first [] a w [] width H V _ (fun m => receive_first base P (view_of q P) (present P (inputs first)) first width m)); auto.
      + intros m x G. apply (receive_first_spec base P P0 F first width0 q reading SOUND_FIRST COUNT ADMISSIBLE MISSING UNIT width m _ x); [|exact G].
        intros n i. cbn [passed_on]. rewrite (EXB n i). apply READ.
      + intros m. cbn [all_sums]. rewrite get_tabulate. reflexivity.
    - destruct rest as [|[a' w'] rest']; [destruct qs; destruct SC|]. destruct qs as [|ql' qs']; [destruct SC|].
      specialize (IH ((a', w') :: rest') (ql' :: qs') (inputs l) H EN SC NN' EXB).
      apply (layer_near ql (ql' :: qs') l (l' :: below') a w ((a', w') :: rest') width H V _
        (fun m => receive_later l (shift_of base ((a', w') :: rest')) (passing_of A (view_of p P) (l' :: below') l' (inputs l) (all_sums A base P (view_of p P) (view_of q P) (l' :: below') ((a', w') :: rest') (inputs l))) m)); auto.
      + intros m x G. refine (receive_later_spec l _ _ _ _ _ width m x G). destruct SC as (_ & _ & _ & R' & _).
        apply (passing_near ql' qs' l' below' ((a', w') :: rest') (inputs l) H _ EN R' IH).
      + intros m. cbn [all_sums]. rewrite get_tabulate. reflexivity.
  Qed.
End Layers.

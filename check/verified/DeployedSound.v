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
Lemma passing_value (q : layer Q) (qs : network Q) (l : layer Z) k V x i b e : (forall j, relu q j = relu l j) -> Int (fst b) <= 2 ^ k * x <= Int (snd b) ->
  Qabs (2 ^ k * (V - x)) <= Int e ->
  2 ^ k * Qabs (passed_on (q :: qs) i V) <= Int (fst (pass (relu l i) b e)) /\
  Qabs (2 ^ k * (passed_on (q :: qs) i V - passed_on (q :: qs) i x)) <= Int (snd (pass (relu l i) b e)).
Proof.
  intros R [B1 B2] D. cbn [passed_on]. rewrite R. pose proof (two_power_pos k) as S0. set (S := 2 ^ k) in *. clearbody S.
  pose proof (Qle_trans _ _ _ (Qabs_nonneg _) D) as E0. apply abs_iff in D.
  assert (forall y, S * Qabs y == Qabs (S * y)) as AS by (intros y; rewrite Qabs_Qmult, (Qabs_pos S) by lra; reflexivity).
  unfold pass. destruct (relu l i).
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
  Variables (A : arithmetic) (base : Z) (within : network Z -> Z -> Z -> option (list (Z * Z))) (first_row : layer Z -> Z -> Z -> Z ->
    option received) (z : network Z) (X : rows).
  Hypothesis PRECISION : (2 <= precision A)%Z.
  Hypothesis ENTRIES : (1 <= entry_error A)%Z.
  Hypothesis BASE : (0 <= base)%Z.
  (* On these rows, what is known of exact units holds, and what is said of the first layer. *)
  Hypothesis WITHIN : forall top l below s qs n b i, z = top ++ l :: below -> below <> [] -> scaled_at base s qs below ->
    within below (inputs l) n = Some b -> In i (ids (inputs l)) ->
    Int (fst (at_unit (inputs l) b i)) <= 2 ^ shift_of base s * preactivation qs X n i <= Int (snd (at_unit (inputs l) b i)).
  Hypothesis FIRST : forall first H w width m r, ends z first -> execution A [] X H -> first_row first (heaviest first width w) width m = Some r ->
    receives first base m width H X r.

  Definition near_values (s : shifts) (qs : network Q) (l : layer Z) (width : Z) (V : rows) (sums : table summing) : Prop := forall m x, get sums m = Some x ->
    let e j := 2 ^ shift_of base s * (V m j - preactivation qs X m j) in
    (forall j, In j (ids width) -> Qabs (e j) <= Int (error_of A x j)) /\
    (forall y other, In y (ids width) -> In other (ids width) -> Qabs (e y - e other) <= Int (pair_error A x y other)).

  (* One layer, for the inputs that it has. *)
  Lemma layer_near (ql : layer Q) (qs : network Q) (l : layer Z) (a w : Z) (rest : shifts) (width : Z) (H V : rows) (sums : table summing) (r : Z ->
    option received) :
    (0 <= a /\ 0 <= w /\ 0 <= shift_of base rest)%Z -> Forall2 (scaled_term (2 ^ a) (2 ^ w)) (terms ql) (terms l) -> inputs ql = inputs l ->
    (forall m j, Int (bias l m j) == 2 ^ (shift_of base rest + a + w) * bias ql m j) ->
    (forall m j, exists groups summands b, Permutation (concat groups) (terms ql) /\ becomes A 1 (bias ql m j) b /\
      Forall2 (adds A ql (fun n i => passed_on qs i (H n i)) m j) groups summands /\ summed A (b :: concat summands) (V m j)) ->
    (forall m x, r m = Some x -> receives l (shift_of base rest) m width (fun n i => passed_on qs i (H n i)) (fun n i => passed_on qs i
      (preactivation qs X n i)) x) ->
    (forall m, get sums m = sums_of A l width (heaviest l width w) a (shift_of base ((a, w) :: rest)) (r m) m) ->
    near_values ((a, w) :: rest) (ql :: qs) l width V sums.
  Proof.
    intros SH TERMS IN BIAS RUN REC SUMS m x G. rewrite SUMS in G. unfold sums_of in G. destruct (r m) as [rm|] eqn:ER; [|discriminate].
    destruct (fits _ _ _ _ _ _ _) eqn:FI; [|discriminate]. injection G as <-. specialize (REC m rm ER). cbn [shift_of] in *.
    set (h := fun n i => passed_on qs i (H n i)) in *. set (y := fun n i => passed_on qs i (preactivation qs X n i)) in *.
    set (sc := scale_of l rm (heaviest l width w) a m) in *. set (S := 2 ^ (shift_of base rest + a + w)).
    assert (0 <= roundings_of A rm)%Z as RN by (pose proof (roundings_le A ql l a w (shift_of base rest) m width h y rm ENTRIES TERMS IN REC); lia).
    pose proof (relative_spec A rm PRECISION) as RS. pose proof (underflow_spec A rm PRECISION sc) as US.
    set (M := middle l (shift_of base rest) m h). set (N := middle l (shift_of base rest) m y).
    assert (forall j, In j (ids width) -> let R := Int (roundings_of A rm) * u A in Qabs (S * V m j - M j) <= (R + R * R) * Int (added rm j) + Int
      (underflow A rm sc)) as ROW.
    { intros j Ij R. destruct (RUN m j) as (groups & summands & b & PE & Bb & FA & SU).
      pose proof (computed_row A ql l a w (shift_of base rest) m width h y rm PRECISION ENTRIES SH TERMS IN BIAS REC FI j groups summands b (V m j) Ij PE Bb FA SU) as CR.
      cbv zeta in CR. fold S sc R M in CR. clear - CR US. lra. }
    assert (forall j, S * preactivation (ql :: qs) X m j == N j) as EXACT by (intros j; apply (middle_exact ql l a w (shift_of base rest) m TERMS IN BIAS y j)).
    assert (forall j, M j - N j == sum (terms l) (fun t => sum (operator t m) (fun e => Int (snd e) * sum (ids (inputs l)) (fun i => 2 ^ shift_of base rest *
      (h (fst e) i - y (fst e) i) * Int (weight t i j))))) as MV.
    { intros j. unfold M, N, middle.
      match goal with |- ?b + ?R - (?b + ?R') == _ => setoid_replace (b + R - (b + R')) with (R + (-1 # 1) * R') by ring end.
      rewrite <- sum_times, <- sum_add. apply sum_eq. intros t _. rewrite <- sum_times, <- sum_add. apply sum_eq. intros e _.
      match goal with |- Int ?c * ?R + _ * (Int ?c * ?R') == _ => setoid_replace (Int c * R + (-1 # 1) * (Int c * R')) with (Int c * (R +
        (-1 # 1) * R')) by ring end.
      apply Qmult_comp; [reflexivity|]. rewrite <- sum_times, <- sum_add. apply sum_eq. intros i _. ring. }
    destruct REC as (_ & _ & _ & _ & INH & BETWEEN). cbn [fst snd] in *. set (R := Int (roundings_of A rm) * u A) in *. clearbody N M. split.
    - intros j Ij. specialize (ROW j Ij). cbv zeta in ROW. specialize (RS (added rm j) RN). cbv zeta in RS. fold R in RS.
      pose proof (INH j Ij) as IJ. rewrite <- MV in IJ. unfold error_of. cbn [fst snd]. rewrite !inject_Z_plus.
      setoid_replace (S * (V m j - preactivation (ql :: qs) X m j)) with ((S * V m j - M j) + (M j - N j)) by (rewrite <- EXACT; ring).
      eapply Qle_trans; [apply Qabs_triangle|]. clear - ROW RS IJ. lra.
    - intros y' other Iy Io. pose proof (ROW y' Iy) as R1. pose proof (ROW other Io) as R2. cbv zeta in R1, R2.
      specialize (RS (added rm y' + added rm other)%Z RN). cbv zeta in RS. fold R in RS. rewrite inject_Z_plus in RS.
      pose proof (BETWEEN y' other Iy Io) as IJ. cbv beta in IJ. unfold pair_error. cbn [fst snd]. rewrite !inject_Z_plus, inject_Z_mult. change (Int 2) with 2.
      rewrite (sum_eq (terms l) _ (fun t => sum (operator t m) (fun e => Int (snd e) * sum (ids (inputs l)) (fun i => 2 ^ shift_of base rest * (h
        (fst e) i - y (fst e) i) * Int (weight t i y'))) +
        (-1 # 1) * sum (operator t m) (fun e => Int (snd e) * sum (ids (inputs l)) (fun i => 2 ^ shift_of base rest * (h (fst e) i - y (fst e) i) * Int
          (weight t i other))))) in IJ.
      + rewrite sum_add, sum_times, <- !MV in IJ.
        setoid_replace (S * (V m y' - preactivation (ql :: qs) X m y') - S * (V m other - preactivation (ql :: qs) X m other)) with
          ((S * V m y' - M y') - (S * V m other - M other) + (M y' - N y' + (-1 # 1) * (M other - N other))) by (rewrite <- !EXACT; ring).
        eapply Qle_trans; [apply Qabs_triangle|]. apply abs_iff in R1, R2.
        assert (Qabs (S * V m y' - M y' - (S * V m other - M other)) <= (R + R * R) * Int (added rm y') + Int (underflow A rm sc) + ((R + R * R) * Int
          (added rm other) + Int (underflow A rm sc))) as R3
          by (apply abs_iff; clear - R1 R2; lra).
        clear - R3 RS IJ. lra.
      + intros t _. rewrite <- sum_times, <- sum_add. apply sum_eq. intros e _.
        match goal with |- _ == Int ?c * ?R + _ * (Int ?c * ?R') => setoid_replace (Int c * R + (-1 # 1) * (Int c * R')) with (Int c * (R +
          (-1 # 1) * R')) by ring end.
        apply Qmult_comp; [reflexivity|]. rewrite <- sum_times, <- sum_add. apply sum_eq. intros i _. unfold Z.sub. rewrite inject_Z_plus, inject_Z_opp. ring.
  Qed.

  (* Units of a layer whose sums are near. *)
  Lemma passing_near (top : network Z) (above l : layer Z) (below : network Z) (ql : layer Q) (qs : network Q) (s : shifts) (V : rows) (sums : table summing) :
    z = top ++ above :: l :: below -> scaled_at base s (ql :: qs) (l :: below) -> near_values s (ql :: qs) l (inputs above) V sums ->
    let known := passing_of A within (l :: below) l (inputs above) sums in
    forall n i, is_known (get known n) = true -> In i (ids (inputs above)) ->
      2 ^ shift_of base s * Qabs (passed_on (ql :: qs) i (V n i)) <= Int (fst (passed (get known n) i)) /\
      Qabs (2 ^ shift_of base s * (passed_on (ql :: qs) i (V n i) - passed_on (ql :: qs) i (preactivation (ql :: qs) X n i))) <= Int (snd (passed
        (get known n) i)).
  Proof.
    intros EZ SC NEAR known n i K Ii. unfold known, passing_of in *. rewrite get_tabulate in *. destruct (get sums n) as [x|] eqn:G; [|discriminate].
    destruct (within (l :: below) (inputs above) n) as [b|] eqn:W; [|discriminate]. cbn [passed]. rewrite get_tabulate.
    apply passing_value; [|apply (WITHIN top above (l :: below) s (ql :: qs) n b i EZ ltac:(discriminate) SC W Ii)|exact (proj1 (NEAR n x G) i Ii)].
    destruct s as [|[a w] rest]; [destruct SC|]. apply SC.
  Qed.

  Lemma sums_near : forall (net top : network Z) (s : shifts) (qn : network Q) (width : Z) (V : rows),
    z = top ++ net -> match rev top with above :: _ => width = inputs above | [] => True end -> scaled_at base s qn net -> not_below_0 s = true ->
      execution A qn X V ->
    match net with l :: _ => near_values s qn l width V (all_sums A base within first_row net s width) | [] => True end.
  Proof.
    induction net as [|l below IH]; intros top s qn width V EZ WI SC NN EX; [exact I|].
    destruct s as [|[a w] rest]; [destruct qn; destruct SC|]. destruct qn as [|ql qs]; [destruct SC|]. destruct SC as (SC & TERMS & IN & R & BIAS).
    assert (not_below_0 rest = true /\ (0 <= a /\ 0 <= w)%Z) as (NN' & A0 & W0).
    { cbn [not_below_0 forallb fst snd] in NN. apply andb_prop in NN as [N1 N2]. apply andb_prop in N1 as [N1 N3]. apply Z.leb_le in N1, N3. auto. }
    pose proof (shift_nonneg base rest BASE NN') as S0. cbn [execution] in EX. destruct EX as (H & EXB & RUN).
    destruct below as [|l' below'].
    - destruct rest as [|[a' w'] rest]; [|destruct qs; destruct SC]. destruct qs as [|]; [|destruct SC].
      apply (layer_near ql [] l a w [] width H V _ (fun m => first_row l (heaviest l width w) width m)); auto.
      + intros m x G. apply (FIRST l H w width m x); auto. rewrite EZ. clear. induction top as [|t top IH]; [reflexivity|]. cbn [app ends].
        destruct top; exact IH.
      + intros m. cbn [all_sums]. rewrite get_tabulate. reflexivity.
    - destruct rest as [|[a' w'] rest']; [destruct qs; destruct SC|]. destruct qs as [|ql' qs']; [destruct SC|].
      specialize (IH (top ++ [l]) ((a', w') :: rest') (ql' :: qs') (inputs l) H). rewrite <- app_assoc in IH. specialize (IH EZ).
      rewrite rev_app_distr in IH. specialize (IH eq_refl SC NN' EXB).
      apply (layer_near ql (ql' :: qs') l a w ((a', w') :: rest') width H V _
        (fun m => receive_later l (shift_of base ((a', w') :: rest')) (passing_of A within (l' :: below') l' (inputs l) (all_sums A base within first_row
          (l' :: below') ((a', w') :: rest') (inputs l))) m)); auto.
      + intros m x G. refine (receive_later_spec l _ _ _ _ _ width m x G).
        apply (passing_near top l l' below' ql' qs' ((a', w') :: rest') H _ EZ SC IH).
      + intros m. cbn [all_sums]. rewrite get_tabulate. reflexivity.
  Qed.

  (* A margin that exceeds the error is one of every execution. *)
  Lemma margin_near (s : shifts) (qn : network Q) (classes : Z) (V : rows) t x y other : scaled_at base s qn z -> not_below_0 s = true -> execution A qn X V ->
    get (all_sums A base within first_row z s classes) t = Some x -> In y (ids classes) -> In other (ids classes) ->
    Int (pair_error A x y other) < 2 ^ shift_of base s * (preactivation qn X t y - preactivation qn X t other) -> V t other < V t y.
  Proof.
    intros SC NN EX G Hy Ho M. pose proof (sums_near z [] s qn classes V eq_refl I SC NN EX) as N.
    destruct z as [|l below] eqn:EZ; [cbn [all_sums] in G; rewrite get_tabulate in G; discriminate G|]. destruct (N t x G) as [_ N2].
    specialize (N2 y other Hy Ho). cbv zeta beta in N2.
    pose proof (two_power_pos (shift_of base s)) as S0. set (S := 2 ^ shift_of base s) in *. clearbody S.
    apply abs_iff in N2 as [N2 _]. set (v := preactivation qn X t y) in *. set (w := preactivation qn X t other) in *.
    set (e := Int (pair_error A x y other)) in *. clearbody v w e. apply (Qmult_lt_l _ _ S S0). clear - M N2. lra.
  Qed.
End Layers.

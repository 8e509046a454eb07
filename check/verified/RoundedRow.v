(* One entry of a layer in an execution: how far it is from the exact sum over the same numbers. *)
From Coq Require Import ZArith QArith Qabs List Bool Lia Lqa Permutation.
From Verified Require Import Spec Roundings.
Import ListNotations.
Open Scope Q_scope.

(* Rational sums. *)
Lemma sum_cons {B} (b : B) l f : sum (b :: l) f = f b + sum l f.
Proof. reflexivity. Qed.

Lemma sum_eq {B} (l : list B) f g : (forall b, In b l -> f b == g b) -> sum l f == sum l g.
Proof. induction l as [|b l IH]; intros H; [reflexivity|]. rewrite !sum_cons, (H b (or_introl eq_refl)), IH; [reflexivity|]. intros c I. apply H. right. exact I. Qed.

Lemma sum_le {B} (l : list B) f g : (forall b, In b l -> f b <= g b) -> sum l f <= sum l g.
Proof.
  induction l as [|b l IH]; intros H; [discriminate|]. rewrite !sum_cons.
  apply Qplus_le_compat; [apply H; left; reflexivity|apply IH; intros c I; apply H; right; exact I].
Qed.

Lemma sum_zero {B} (l : list B) : sum l (fun _ => 0) == 0.
Proof. induction l as [|b l IH]; [reflexivity|]. rewrite sum_cons, IH. reflexivity. Qed.

Lemma sum_add {B} (l : list B) f g : sum l (fun b => f b + g b) == sum l f + sum l g.
Proof. induction l as [|b l IH]; [reflexivity|]. rewrite !sum_cons, IH. ring. Qed.

Lemma sum_times {B} (l : list B) c f : sum l (fun b => c * f b) == c * sum l f.
Proof. induction l as [|b l IH]; [cbn [app sum fold_right]; ring|]. rewrite !sum_cons, IH. ring. Qed.

Lemma sum_swap {B C} (l : list B) (r : list C) f : sum l (fun b => sum r (fun c => f b c)) == sum r (fun c => sum l (fun b => f b c)).
Proof.
  induction l as [|b l IH]; [symmetry; apply sum_zero|]. rewrite sum_cons, IH, <- sum_add. apply sum_eq. intros c _. reflexivity.
Qed.

Lemma sum_app {B} (l r : list B) f : sum (l ++ r) f == sum l f + sum r f.
Proof. induction l as [|b l IH]; cbn [app]; [cbn [app sum fold_right]; ring|]. rewrite !sum_cons, IH. ring. Qed.

Lemma sum_perm {B} (l r : list B) f : Permutation l r -> sum l f == sum r f.
Proof. induction 1; rewrite ?sum_cons; lra. Qed.

Lemma sum_nonneg {B} (l : list B) f : (forall b, In b l -> 0 <= f b) -> 0 <= sum l f.
Proof. intros H. rewrite <- (sum_zero l). apply sum_le. exact H. Qed.

Lemma sum_concat {B} (ls : list (list B)) f : sum (concat ls) f == sum ls (fun l => sum l f).
Proof. induction ls as [|l ls IH]; [reflexivity|]. cbn [concat]. rewrite sum_app, sum_cons, IH. reflexivity. Qed.

Lemma total_map {B} (l : list B) f : sum_of (map f l) == sum l f.
Proof. induction l as [|b l IH]; [reflexivity|]. cbn [map]. rewrite total_cons, sum_cons, IH. reflexivity. Qed.

Lemma mass_map {B} (l : list B) f : mass (map f l) == sum l (fun b => Qabs (f b)).
Proof. induction l as [|b l IH]; [reflexivity|]. cbn [map]. rewrite mass_cons, sum_cons, IH. reflexivity. Qed.

Lemma sum_flat_map {B C} (l : list B) (g : B -> list C) f : sum (flat_map g l) f == sum l (fun b => sum (g b) f).
Proof. induction l as [|b l IH]; [reflexivity|]. cbn [flat_map]. rewrite sum_app, sum_cons, IH. reflexivity. Qed.

Lemma sum_map {B C} (l : list B) (g : B -> C) f : sum (map g l) f == sum l (fun b => f (g b)).
Proof. induction l as [|b l IH]; [reflexivity|]. cbn [map]. rewrite !sum_cons, IH. reflexivity. Qed.

Definition nsum {B} (l : list B) (f : B -> nat) : nat := list_sum (map f l).

Lemma nsum_cons {B} (b : B) l f : nsum (b :: l) f = (f b + nsum l f)%nat.
Proof. reflexivity. Qed.

Lemma nsum_app {B} (l r : list B) f : nsum (l ++ r) f = (nsum l f + nsum r f)%nat.
Proof. unfold nsum. rewrite map_app, list_sum_app. reflexivity. Qed.

Lemma nsum_perm {B} (l r : list B) f : Permutation l r -> nsum l f = nsum r f.
Proof. induction 1; rewrite ?nsum_cons; lia. Qed.

Lemma nsum_one {B} (l : list B) f g b : In b l -> (forall c, In c l -> f c <= g c)%nat -> (nsum l f + g b <= nsum l g + f b)%nat.
Proof.
  induction l as [|c l IH]; intros I H; [destruct I|]. rewrite !nsum_cons. destruct I as [->|I].
  - assert (nsum l f <= nsum l g)%nat; [|lia]. clear IH. induction l as [|d l IH]; [reflexivity|]. rewrite !nsum_cons.
    pose proof (H d (or_intror (or_introl eq_refl))). assert (nsum l f <= nsum l g)%nat by (apply IH; intros e [->|I]; apply H; [left; reflexivity|right; right; exact I]). lia.
  - pose proof (H c (or_introl eq_refl)). specialize (IH I (fun d J => H d (or_intror J))). lia.
Qed.

Lemma nsum_le {B} (l : list B) f g : (forall b, In b l -> f b <= g b)%nat -> (nsum l f <= nsum l g)%nat.
Proof. induction l as [|b l IH]; intros H; [reflexivity|]. rewrite !nsum_cons. pose proof (H b (or_introl eq_refl)). specialize (IH (fun c I => H c (or_intror I))). lia. Qed.

Lemma nonzero_flat_map {B} (l : list B) g : nonzero (flat_map g l) = nsum l (fun b => nonzero (g b)).
Proof. induction l as [|b l IH]; [reflexivity|]. cbn [flat_map]. rewrite nonzero_app, nsum_cons, IH. reflexivity. Qed.

Lemma nonzero_filter {B} (l : list B) f (p : B -> bool) : (forall b, In b l -> p b = false -> f b == 0) -> (nonzero (map f l) <= length (filter p l))%nat.
Proof.
  induction l as [|b l IH]; intros H; [reflexivity|]. cbn [map filter]. rewrite nonzero_cons. specialize (IH (fun c I => H c (or_intror I))).
  destruct (p b) eqn:E; cbn [length]; [destruct (is_zero (f b)); lia|]. apply (H b (or_introl eq_refl)), is_zero_spec in E. rewrite E. lia.
Qed.

Lemma forall2_in {B C} (R S : B -> C -> Prop) l r : Forall2 R l r -> (forall b c, In b l -> R b c -> S b c) -> Forall2 S l r.
Proof. induction 1 as [|b c l r X F IH]; intros H; constructor; [apply H; [left; reflexivity|exact X]|]. apply IH. intros b' c' I. apply H. right. exact I. Qed.

Lemma filter_all {B} (l : list B) : filter (fun _ => true) l = l.
Proof. induction l as [|b l IH]; [reflexivity|]. cbn [filter]. rewrite IH. reflexivity. Qed.

(* A sum of which only some numbers are not 0. *)
Lemma sum_some {B} (l : list B) f (p : B -> bool) c : (forall b, In b l -> p b = true -> f b <= c) -> (forall b, In b l -> p b = false -> f b == 0) ->
  sum l f <= count_of (length (filter p l)) * c.
Proof.
  induction l as [|b l IH]; intros H1 H2; [cbn [sum fold_right filter length]; change (count_of 0) with 0; lra|].
  specialize (IH (fun b' I => H1 b' (or_intror I)) (fun b' I => H2 b' (or_intror I))). rewrite sum_cons. cbn [filter]. pose proof (H1 b (or_introl eq_refl)) as X. pose proof (H2 b (or_introl eq_refl)) as Y.
  destruct (p b); [cbn [length]; rewrite count_S; specialize (X eq_refl)|specialize (Y eq_refl)]; lra.
Qed.

Section Leaves.
  Variable A : arithmetic.
  Hypothesis PRECISION : (2 <= precision A)%Z.
  Notation pow := (pow A).

  (* Summands that are each near exact ones, those that are 0 exactly left out: what further roundings add. *)
  Lemma leaves {B} (xs : list B) L (exact magnitude : B -> Q) (alive : B -> bool) K kappa N n : 0 <= kappa -> (N + K <= n)%nat ->
    Forall2 (fun x v => (alive x = false -> v == 0 /\ exact x == 0) /\ Qabs (exact x) <= magnitude x /\
      Qabs (v - exact x) <= (pow K - 1) * magnitude x + pow K * kappa) xs L ->
    let live := count_of (length (filter alive xs)) in
    (nonzero L <= length (filter alive xs))%nat /\ mass L <= pow n * sum xs magnitude + pow n * (kappa * live) /\
    (pow N - 1) * mass L + Qabs (sum_of L - sum xs exact) <= (pow n - 1) * sum xs magnitude + pow n * (kappa * live).
  Proof.
    intros K0 LE F. pose proof (pow_one A PRECISION N) as N1. pose proof (pow_one A PRECISION K) as K1. pose proof (pow_one A PRECISION n) as n1.
    assert (pow N * pow K <= pow n) as NK by (rewrite <- (pow_add A); apply (pow_mono A PRECISION); exact LE).
    set (pN := pow N) in *. set (pK := pow K) in *. set (pn := pow n) in *. clearbody pN pK pn.
    induction F as [|x v xs L (Z & S & D) F (I1 & I2 & I3)]; cbv zeta in *.
    - change (mass []) with 0. change (sum_of []) with 0. cbn [filter length sum fold_right]. change (count_of 0) with 0. change (Qabs (0 - 0)) with 0.
      split; [reflexivity|]. split; lra.
    - rewrite nonzero_cons, mass_cons, total_cons, !sum_cons. cbn [filter]. pose proof (Qabs_nonneg (exact x)) as S0. pose proof (Qabs_nonneg v) as V0.
      assert (Qabs (v + sum_of L - (exact x + sum xs exact)) <= Qabs (v - exact x) + Qabs (sum_of L - sum xs exact)) as TR.
      { setoid_replace (v + sum_of L - (exact x + sum xs exact)) with ((v - exact x) + (sum_of L - sum xs exact)) by ring. apply Qabs_triangle. }
      destruct (alive x).
      + cbn [length]. rewrite count_S. set (live := count_of (length (filter alive xs))) in *.
        assert (Qabs v <= pK * magnitude x + pK * kappa) as BV.
        { setoid_replace v with ((v - exact x) + exact x) by ring. eapply Qle_trans; [apply Qabs_triangle|]. clear - D S. lra. }
        assert (pN * pK * magnitude x <= pn * magnitude x) as X1 by (clear - NK S S0; nra). assert (pN * pK * kappa <= pn * kappa) as X2 by (clear - NK K0; nra).
        split; [destruct (is_zero v); lia|]. split.
        * assert (pK <= pn) as KN by (clear - NK N1 K1; nra). assert (pK * magnitude x <= pn * magnitude x) by (clear - KN S S0; nra).
          assert (pK * kappa <= pn * kappa) by (clear - KN K0; nra). clear - BV I2 H H0. lra.
        * assert ((pN - 1) * Qabs v <= (pN - 1) * (pK * magnitude x + pK * kappa)) as X3 by (clear - BV N1; nra). clear - X1 X2 X3 TR D I3. lra.
      + destruct (Z eq_refl) as [Zv Ze]. assert (is_zero v = true) as Ez by (apply is_zero_spec; exact Zv). rewrite Ez. cbn [Nat.add].
        split; [exact I1|]. assert (Qabs v == 0) as V1 by (rewrite Zv; reflexivity). assert (Qabs (v - exact x) == 0) as V2 by (rewrite Zv, Ze; reflexivity).
        assert (0 <= (pn - 1) * magnitude x) as P1 by (clear - n1 S S0; nra). assert (0 <= pn * magnitude x) by (clear - n1 S S0; nra).
        rewrite V1. clear - TR V2 I2 I3 P1 H. split; lra.
  Qed.
End Leaves.

Section Row.
  Variables (A : arithmetic) (l : stage Q) (h : nat -> Z -> Z -> Q) (m j : Z) (D : reader Q -> nat) (H W E : Q).
  Hypothesis PRECISION : (2 <= precision A)%Z.
  (* Terms all of whose inputs are 0 or 1, so that products with them are exact. *)
  Variable plain : reader Q -> bool.
  Let sigma := weight_error l.
  Notation pow := (pow A).
  Notation eta := (eta A).
  Notation limit := (inject_Z (2 ^ 127)).

  Definition row (t : reader Q) : nat := length (operator t m).
  Definition seen (t : reader Q) (i : Z) : bool := existsb (fun e => negb (is_zero (h (read_layer t) (fst e) i))) (operator t m).
  Definition exact (t : reader Q) : Q := sum (operator t m) (fun e => snd e * sum (ids (read_units t)) (fun i => h (read_layer t) (fst e) i * weight t i j)).
  Definition magnitude (t : reader Q) : Q := sum (operator t m) (fun e => Qabs (snd e) * sum (ids (read_units t)) (fun i => Qabs (h (read_layer t) (fst e) i) * Qabs (weight t i j))).
  (* A term has at most so many summands. A product passes the additions of all of them, and those of the sum that is one of them: of inputs where
     summands are entries, of entries where they are inputs; the roundings of what is read; and one of its own, and another with what was added up. *)
  Definition counted (t : reader Q) : nat := Nat.max (D t) (row t).
  Definition product (t : reader Q) : nat := if plain t then 0 else 1.
  Definition inner_of (t : reader Q) : nat := match row t with O => 0 | S _ => Nat.min (D t) (row t) + entry_error t m + product t + (sigma + more_roundings t) end.
  Definition inner : nat := list_max (map inner_of (steps l)).
  Definition cells (t : reader Q) : nat := ((D t + 1) * (row t + 1))%nat.
  Definition roundings : nat := (nsum (steps l) counted + Nat.max inner (bias_error l m + more_for_bias l))%nat.
  Definition all_cells : Q := count_of (nsum (steps l) cells) + 1.

  Hypothesis PLAIN : forall t e i, In t (steps l) -> plain t = true -> In e (operator t m) -> In i (ids (read_units t)) ->
    h (read_layer t) (fst e) i == 0 \/ h (read_layer t) (fst e) i == 1.
  Hypothesis BOUNDS : 1 <= H /\ 1 <= W /\ 1 <= E.
  Hypothesis INPUTS : forall t e i, In t (steps l) -> In e (operator t m) -> In i (ids (read_units t)) -> Qabs (h (read_layer t) (fst e) i) <= H.
  Hypothesis WEIGHTS : forall t i, In t (steps l) -> In i (ids (read_units t)) -> Qabs (weight t i j) <= W.
  Hypothesis OPERATORS : forall t e, In t (steps l) -> In e (operator t m) -> Qabs (snd e) <= E.
  Hypothesis SEEN : forall t, In t (steps l) -> (length (filter (seen t) (ids (read_units t))) <= D t)%nat.
  Hypothesis FEW : count_of roundings * u A <= 1 # 2.
  Hypothesis RANGE : 128 * (all_cells * (H * W * E) + Qabs (stage_bias l m j)) < limit.

  Lemma inner_in t : In t (steps l) -> (inner_of t <= inner)%nat.
  Proof.
    intros I. pose proof (proj1 (list_max_le (map inner_of (steps l)) inner) (le_n _)) as F. rewrite Forall_forall in F. apply F. apply in_map. exact I.
  Qed.

  (* A term of a group whose products pass most. *)
  Lemma most_products group : group <> [] -> exists t, In t group /\ forall s, In s group -> (product s <= product t)%nat.
  Proof.
    intros N. destruct (in_dec Nat.eq_dec 1%nat (map product group)) as [I|O].
    - apply in_map_iff in I as (t & P1 & I). exists t. split; [exact I|]. intros s _. rewrite P1. unfold product. destruct (plain s); lia.
    - destruct group as [|t group]; [contradiction|]. exists t. split; [left; reflexivity|]. intros s I.
      assert (product s <> 1%nat) as P by (intros P1; apply O; rewrite <- P1; apply in_map; exact I). unfold product in *. destruct (plain s); [lia|contradiction].
  Qed.

  Lemma scale_one : 1 <= H * W * E.
  Proof. destruct BOUNDS as (H1 & W1 & E1). assert (1 <= H * W) by (clear - H1 W1; nra). clear - H0 E1. nra. Qed.

  Lemma cells_positive : 1 <= all_cells.
  Proof. unfold all_cells. pose proof (count_nonneg (nsum (steps l) cells)). lra. Qed.

  Lemma range_of d : count_of d + 1 <= all_cells -> 64 * ((count_of d + 1) * (H * W * E)) < limit.
  Proof.
    intros L. eapply Qle_lt_trans; [|exact RANGE]. pose proof scale_one. pose proof (Qabs_nonneg (stage_bias l m j)). pose proof (count_nonneg d).
    set (w := H * W * E) in *. clearbody w. assert ((count_of d + 1) * w <= all_cells * w) by (clear - L H0; nra). assert (0 <= (count_of d + 1) * w) by (clear - H2 H0; nra). lra.
  Qed.

  Lemma few k : (k <= roundings)%nat -> count_of k * u A <= 1 # 2.
  Proof. intros L. pose proof (u_small A PRECISION). apply count_le in L. pose proof FEW. clear - L H0 H1. nra. Qed.

  Lemma seen_not (t : reader Q) e i : In e (operator t m) -> seen t i = false -> h (read_layer t) (fst e) i == 0.
  Proof.
    intros I N. destruct (is_zero (h (read_layer t) (fst e) i)) eqn:Z; [apply is_zero_spec; exact Z|]. unfold seen in N.
    rewrite <- not_true_iff_false in N. destruct N. apply existsb_exists. exists e. rewrite Z. auto.
  Qed.

  Lemma size_bound t : In t (steps l) -> magnitude t <= count_of (cells t) * (H * W * E).
  Proof.
    intros I. destruct BOUNDS as (H1 & W1 & E1). pose proof (count_nonneg (D t)) as D0. pose proof (count_nonneg (row t)) as R0.
    assert (forall e, In e (operator t m) -> sum (ids (read_units t)) (fun i => Qabs (h (read_layer t) (fst e) i) * Qabs (weight t i j)) <= count_of (D t) * (H * W)) as S.
    { intros e Ie. eapply Qle_trans; [apply (sum_some _ _ (seen t) (H * W))|].
      - intros i Ii _. pose proof (INPUTS t e i I Ie Ii). pose proof (WEIGHTS t i I Ii). pose proof (Qabs_nonneg (h (read_layer t) (fst e) i)). pose proof (Qabs_nonneg (weight t i j)). clear - H0 H2 H3 H4 H1 W1. nra.
      - intros i _ N. rewrite (seen_not t e i Ie N). change (Qabs 0) with 0. ring.
      - pose proof (count_le _ _ (SEEN t I)). assert (0 <= H * W) by (clear - H1 W1; nra). clear - H0 H2. nra. }
    assert (magnitude t <= count_of (row t) * (count_of (D t) * (H * W * E))) as B.
    { unfold magnitude. eapply Qle_trans; [apply (sum_some _ _ (fun _ => true) (count_of (D t) * (H * W * E)))|rewrite filter_all; apply Qle_refl].
      - intros e Ie _. specialize (S e Ie). pose proof (OPERATORS t e I Ie) as O. pose proof (Qabs_nonneg (snd e)) as O0.
        assert (0 <= sum (ids (read_units t)) (fun i => Qabs (h (read_layer t) (fst e) i) * Qabs (weight t i j))) as S0.
        { apply sum_nonneg. intros i _. pose proof (Qabs_nonneg (h (read_layer t) (fst e) i)). pose proof (Qabs_nonneg (weight t i j)). clear - H0 H2. nra. }
        set (x := sum _ _) in *. clearbody x. setoid_replace (count_of (D t) * (H * W * E)) with (E * (count_of (D t) * (H * W))) by ring.
        set (y := count_of (D t) * (H * W)) in *. clearbody y. clear - S O O0 S0. nra.
      - discriminate. }
    eapply Qle_trans; [exact B|]. unfold cells, count_of in *. rewrite Nat2Z.inj_mul, !Nat2Z.inj_add, inject_Z_mult, !inject_Z_plus. change (inject_Z (Z.of_nat 1)) with 1.
    pose proof scale_one. set (w := H * W * E) in *. clearbody w. set (d := inject_Z (Z.of_nat (D t))) in *. set (r := inject_Z (Z.of_nat (row t))) in *. clear - D0 R0 H0.
    assert (r * d <= (d + 1) * (r + 1)) by nra. set (k := (d + 1) * (r + 1)) in *. clearbody k. assert (r * (d * w) == r * d * w) as -> by ring. nra.
  Qed.

  Lemma sizes_bound group : (forall t, In t group -> In t (steps l)) -> sum group magnitude <= count_of (nsum group cells) * (H * W * E).
  Proof.
    induction group as [|t group IH]; intros I; [cbn [sum fold_right nsum map list_sum]; change (count_of 0) with 0; lra|].
    rewrite sum_cons, nsum_cons, count_plus. pose proof (size_bound t (I t (or_introl eq_refl))). specialize (IH (fun s J => I s (or_intror J))). lra.
  Qed.

  Lemma size_nonneg t : 0 <= magnitude t.
  Proof.
    apply sum_nonneg. intros e _. assert (0 <= sum (ids (read_units t)) (fun i => Qabs (h (read_layer t) (fst e) i) * Qabs (weight t i j))).
    { apply sum_nonneg. intros i _. pose proof (Qabs_nonneg (h (read_layer t) (fst e) i)). pose proof (Qabs_nonneg (weight t i j)). nra. }
    pose proof (Qabs_nonneg (snd e)). nra.
  Qed.

  (* A group of terms. *)
  Lemma times_nothing inner' outer c x : times_sum A inner' outer [] c x -> x == 0.
  Proof.
    intros (products & tot & d & F & S & _ & Bx). inversion F; subst. pose proof (summed_nothing A _ _ S eq_refl) as T0.
    assert (d * tot == 0) as Z0 by (rewrite T0; ring). apply Bx; [|exact Z0]. rewrite Z0. vm_compute. reflexivity.
  Qed.

  Lemma group_error group L N : adds A sigma h m j group L -> (forall t, In t group -> In t (steps l)) ->
    (nsum group counted <= nsum (steps l) counted)%nat -> (nsum group cells <= nsum (steps l) cells)%nat ->
    (N <= nsum (steps l) counted - nsum group counted + nonzero L)%nat ->
    let c := count_of (nsum group cells) * (H * W * E) * eta in
    (nonzero L <= nsum group counted)%nat /\ mass L <= pow roundings * (sum group magnitude + 10 * c) /\
    (pow N - 1) * mass L + Qabs (sum_of L - sum group exact) <= (pow roundings - 1) * sum group magnitude + pow roundings * (10 * c).
  Proof.
    intros (t & more & EG & SAME & CASE) IN LS LC LN c. destruct BOUNDS as (H1 & W1 & E1). pose proof (eta_small A PRECISION) as [ET1 ET2].
    pose proof scale_one as S1. pose proof (pow_one A PRECISION roundings) as PR1.
    assert (0 <= c) as C0.
    { unfold c. pose proof (count_nonneg (nsum group cells)). assert (0 <= count_of (nsum group cells) * (H * W * E)) by (clear - H0 S1; nra). clear - H2 ET1. nra. }
    (* An empty row has nothing to add. *)
    destruct (Nat.eq_dec (row t) 0) as [R0|R1].
    { assert (operator t m = []) as O by (apply length_zero_iff_nil; exact R0).
      assert (forall s, In s group -> operator s m = []) as ALL by (intros s I; rewrite EG in I; destruct I as [<-|I]; [exact O|rewrite (proj1 (SAME s I)); exact O]).
      assert (nonzero L = 0%nat) as NL.
      { destruct CASE as [F|[_ F]]; [rewrite O in F; inversion F; reflexivity|]. rewrite O in F. cbn [map] in F. clear - F PRECISION.
        induction F as [|i v is L T F IH]; [reflexivity|]. rewrite nonzero_cons, IH. apply times_nothing in T. apply is_zero_spec in T. rewrite T. reflexivity. }
      destruct (total_none L NL) as [T0 M0].
      assert (sum group exact == 0) as X0 by (rewrite <- (sum_zero group); apply sum_eq; intros s I; unfold exact; rewrite (ALL s I); reflexivity).
      assert (sum group magnitude == 0) as Y0 by (rewrite <- (sum_zero group); apply sum_eq; intros s I; unfold magnitude; rewrite (ALL s I); reflexivity).
      assert (Qabs (sum_of L - sum group exact) == 0) as Z0 by (rewrite T0, X0; reflexivity).
      rewrite NL, Y0, M0, Z0. split; [lia|]. clear - C0 PR1. split; nra. }
    (* What both orders have in common, once the summands are known. *)
    assert (forall (B : Type) (xs : list B) ex si alive K d, Forall2 (fun x v => (alive x = false -> v == 0 /\ ex x == 0) /\ Qabs (ex x) <= si x /\
        Qabs (v - ex x) <= (pow K - 1) * si x + pow K * ((9 * count_of d + 1) * (H * W * E) * eta)) xs L ->
      sum xs ex == sum group exact -> sum xs si == sum group magnitude -> (length (filter alive xs) <= nsum group counted)%nat ->
      (length (filter alive xs) + K <= nsum group counted + inner)%nat -> ((9 * d + 1) * length (filter alive xs) <= 10 * nsum group cells)%nat ->
      (nonzero L <= nsum group counted)%nat /\ mass L <= pow roundings * (sum group magnitude + 10 * c) /\
      (pow N - 1) * mass L + Qabs (sum_of L - sum group exact) <= (pow roundings - 1) * sum group magnitude + pow roundings * (10 * c)) as COMMON.
    { intros B xs ex si alive K d F EX SI LD LIVE CELLS.
      assert (0 <= (9 * count_of d + 1) * (H * W * E) * eta) as K0.
      { pose proof (count_nonneg d). assert (0 <= (9 * count_of d + 1) * (H * W * E)) by (clear - H0 S1; nra). clear - H2 ET1. nra. }
      pose proof (nonzero_length L) as NL0.
      assert (nonzero L <= length (filter alive xs))%nat as NL by exact (proj1 (leaves A PRECISION xs L ex si alive K _ 0 K K0 (le_n _) F)).
      destruct (leaves A PRECISION xs L ex si alive K _ N roundings K0 ltac:(unfold roundings; lia) F) as (_ & L2 & L3). cbv zeta in *.
      rewrite EX, SI in *. set (live := length (filter alive xs)) in *.
      assert ((9 * count_of d + 1) * (H * W * E) * eta * count_of live <= 10 * c) as KL.
      { unfold c. assert (count_of ((9 * d + 1) * live) <= count_of (10 * nsum group cells)) as CC by (apply count_le; exact CELLS).
        unfold count_of in *. rewrite !Nat2Z.inj_mul, Nat2Z.inj_add, Nat2Z.inj_mul, !inject_Z_mult, inject_Z_plus, inject_Z_mult in CC.
        change (inject_Z (Z.of_nat 9)) with 9 in CC. change (inject_Z (Z.of_nat 1)) with 1 in CC. change (inject_Z (Z.of_nat 10)) with 10 in CC.
        set (dd := inject_Z (Z.of_nat d)) in *. set (ll := inject_Z (Z.of_nat live)) in *. set (cc := inject_Z (Z.of_nat (nsum group cells))) in *.
        assert (0 <= H * W * E * eta) as S0 by (clear - S1 ET1; nra). set (w := H * W * E) in *.
        setoid_replace ((9 * dd + 1) * w * eta * ll) with ((9 * dd + 1) * ll * (w * eta)) by ring. setoid_replace (10 * (cc * w * eta)) with (10 * cc * (w * eta)) by ring.
        apply Qmult_le_compat_r; assumption. }
      split; [lia|]. set (R := pow roundings) in *. clearbody R.
      assert (R * ((9 * count_of d + 1) * (H * W * E) * eta * count_of live) <= R * (10 * c)) as RK by (clear - KL PR1; nra).
      clear - L2 L3 RK. split; lra. }
    destruct CASE as [F|[-> F]].
    - (* Weights first. *)
      set (pairs := fun e : Z * Q => flat_map (fun s => map (fun i => (h (read_layer s) (fst e) i, weight s i j)) (ids (read_units s))) group).
      assert (forall s, In s group -> operator s m = operator t m) as SAME' by (intros s I; rewrite EG in I; destruct I as [<-|I]; [reflexivity|apply SAME; exact I]).
      assert (forall s, In s group -> entry_error s m = entry_error t m) as UNITS by (intros s I; rewrite EG in I; destruct I as [<-|I]; [reflexivity|apply SAME; exact I]).
      assert (forall s, In s group -> row s = row t) as ROWS by (intros s I; unfold row; rewrite (SAME' s I); reflexivity).
      assert (In t group) as It by (rewrite EG; left; reflexivity).
      destruct (most_products group ltac:(rewrite EG; discriminate)) as (most & Im & MOST).
      assert (row t + (nsum group D + (product most + sigma) + entry_error t m) <= nsum group counted + inner)%nat as ROOM.
      { pose proof (nsum_one group D counted most Im (fun s _ => Nat.le_max_l _ _)) as O. pose proof (inner_in most (IN most Im)) as I. unfold inner_of in I. unfold counted in O at 1.
        rewrite (ROWS most Im), (UNITS most Im) in *. destruct (row t); [contradiction|]. lia. }
      apply (COMMON _ (operator t m) (fun e => snd e * sum_of (dot (pairs e))) (fun e => Qabs (snd e) * mass (dot (pairs e))) (fun _ => true)
        (nsum group D + (product most + sigma) + entry_error t m)%nat (nsum group D)).
      + apply (forall2_in _ _ _ _ F). intros e v Ie T. fold (pairs e) in T.
        assert (nonzero (map fst (pairs e)) <= nsum group D)%nat as NZ.
        { unfold pairs. rewrite flat_map_concat_map, concat_map, map_map, <- flat_map_concat_map, nonzero_flat_map. apply nsum_le. intros s I.
          rewrite map_map. cbn [fst]. etransitivity; [|apply (SEEN s (IN s I))]. apply nonzero_filter. intros i _ NS. apply (seen_not s); [|exact NS]. rewrite (SAME' s I). exact Ie. }
        destruct (times_sum_error A PRECISION sigma (entry_error t m) (product most) (nsum group D) H W E (pairs e) (snd e) v T NZ H1 W1 E1) as (_ & _ & T3).
        * intros p Ip. apply in_flat_map in Ip as (s & I & Ip). apply in_map_iff in Ip as (i & <- & Ii). cbn [fst snd].
          split; [apply (INPUTS s); [apply IN; exact I|rewrite (SAME' s I); exact Ie|exact Ii]|apply WEIGHTS; [apply IN; exact I|exact Ii]].
        * intros PZ p Ip. apply in_flat_map in Ip as (s & I & Ip). apply in_map_iff in Ip as (i & <- & Ii). cbn [fst].
          apply (PLAIN s); [apply IN; exact I| |rewrite (SAME' s I); exact Ie|exact Ii]. specialize (MOST s I). rewrite PZ in MOST. unfold product in MOST.
          destruct (plain s); [reflexivity|lia].
        * apply (OPERATORS t); [apply IN; exact It|exact Ie].
        * apply few. unfold roundings. lia.
        * apply range_of. unfold all_cells. apply Qplus_le_compat; [|apply Qle_refl]. apply count_le. etransitivity; [|exact LC]. apply nsum_le. intros s _. unfold cells. nia.
        * split; [discriminate|]. split; [|exact T3].
          rewrite Qabs_Qmult. pose proof (total_mass (dot (pairs e))). pose proof (Qabs_nonneg (snd e)). clear - H0 H2. nra.
      + transitivity (sum group (fun s => sum (operator t m) (fun e => snd e * sum (ids (read_units s)) (fun i => h (read_layer s) (fst e) i * weight s i j)))).
        * rewrite sum_swap. apply sum_eq. intros e _. rewrite sum_times. apply Qmult_comp; [reflexivity|]. unfold dot. rewrite total_map. unfold pairs. rewrite sum_flat_map.
          apply sum_eq. intros s _. rewrite sum_map. reflexivity.
        * apply sum_eq. intros s I. unfold exact. rewrite (SAME' s I). reflexivity.
      + transitivity (sum group (fun s => sum (operator t m) (fun e => Qabs (snd e) * sum (ids (read_units s)) (fun i => Qabs (h (read_layer s) (fst e) i) * Qabs (weight s i j))))).
        * rewrite sum_swap. apply sum_eq. intros e _. rewrite sum_times. apply Qmult_comp; [reflexivity|]. unfold dot. rewrite mass_map. unfold pairs. rewrite sum_flat_map.
          apply sum_eq. intros s _. rewrite sum_map. apply sum_eq. intros i _. cbn [fst snd]. apply Qabs_Qmult.
        * apply sum_eq. intros s I. unfold magnitude. rewrite (SAME' s I). reflexivity.
      + rewrite filter_all. fold (row t). rewrite EG, nsum_cons. unfold counted at 1. lia.
      + rewrite filter_all. fold (row t). exact ROOM.
      + rewrite filter_all. fold (row t).
        assert (forall G, (forall s, In s G -> row s = row t) -> nsum G D * row t + length G * row t <= nsum G cells)%nat as X.
        { induction G as [|s G IH]; intros HG; [reflexivity|]. rewrite !nsum_cons. cbn [length]. specialize (IH (fun s' I => HG s' (or_intror I))). unfold cells at 1. rewrite (HG s (or_introl eq_refl)). nia. }
        specialize (X group ROWS). assert (1 <= length group)%nat by (rewrite EG; cbn [length]; lia). nia.
    - (* Entries first. *)
      subst group. set (pairs := fun i => map (fun e : Z * Q => (h (read_layer t) (fst e) i, snd e)) (operator t m)). assert (In t (steps l)) as It by (apply IN; left; reflexivity).
      assert (forall i, seen t i = false -> nonzero (map fst (pairs i)) = 0%nat /\ sum_of (dot (pairs i)) == 0) as DEAD.
      { intros i NS. unfold pairs. rewrite map_map. cbn [fst]. split.
        - pose proof (nonzero_filter (operator t m) (fun e => h (read_layer t) (fst e) i) (fun _ => false)) as X. assert (filter (fun _ : Z * Q => false) (operator t m) = []) as Z by (clear; induction (operator t m); auto).
          rewrite Z in X. cbn [length] in X. specialize (X (fun e Ie _ => seen_not t e i Ie NS)). lia.
        - unfold dot. rewrite map_map. cbn [fst snd]. rewrite total_map. rewrite <- (sum_zero (operator t m)). apply sum_eq. intros e Ie. rewrite (seen_not t e i Ie NS). ring. }
      apply (COMMON _ (ids (read_units t)) (fun i => weight t i j * sum_of (dot (pairs i))) (fun i => Qabs (weight t i j) * mass (dot (pairs i))) (seen t)
        (row t + (product t + entry_error t m) + sigma)%nat (row t)).
      + apply (forall2_in _ _ _ _ F). intros i v Ii T. fold (pairs i) in T.
        assert (nonzero (map fst (pairs i)) <= row t)%nat as NZ by (etransitivity; [apply nonzero_length|]; unfold pairs; rewrite !map_length; reflexivity).
        destruct (times_sum_error A PRECISION (entry_error t m) sigma (product t) (row t) H E W (pairs i) (weight t i j) v T NZ H1 E1 W1) as (T1 & _ & T3).
        * intros p Ip. apply in_map_iff in Ip as (e & <- & Ie). cbn [fst snd]. split; [apply (INPUTS t); assumption|apply (OPERATORS t); assumption].
        * intros PZ p Ip. apply in_map_iff in Ip as (e & <- & Ie). cbn [fst]. apply (PLAIN t); [exact It| |exact Ie|exact Ii].
          unfold product in PZ. destruct (plain t); [reflexivity|discriminate PZ].
        * apply WEIGHTS; assumption.
        * apply few. pose proof (inner_in t It) as I. unfold inner_of in I. unfold roundings. rewrite nsum_cons in LS. unfold counted at 1 in LS.
          destruct (row t); [contradiction|]. lia.
        * setoid_replace (H * E * W) with (H * W * E) by ring. apply range_of. unfold all_cells. apply Qplus_le_compat; [|apply Qle_refl]. apply count_le.
          etransitivity; [|exact LC]. rewrite nsum_cons. unfold cells at 1. nia.
        * split; [|split].
          -- intros NS. destruct (DEAD i NS) as [D1 D2]. split; [exact (T1 D1)|]. rewrite D2. ring.
          -- rewrite Qabs_Qmult. pose proof (total_mass (dot (pairs i))). pose proof (Qabs_nonneg (weight t i j)). clear - H0 H2. nra.
          -- setoid_replace (H * W * E) with (H * E * W) by ring. exact T3.
      + rewrite sum_cons. cbn [sum fold_right]. rewrite Qplus_0_r. unfold exact.
        transitivity (sum (ids (read_units t)) (fun i => sum (operator t m) (fun e => snd e * (h (read_layer t) (fst e) i * weight t i j)))).
        * apply sum_eq. intros i _. unfold pairs, dot. rewrite map_map. cbn [fst snd]. rewrite total_map, <- sum_times. apply sum_eq. intros e _. ring.
        * rewrite sum_swap. apply sum_eq. intros e _. apply sum_times.
      + rewrite sum_cons. cbn [sum fold_right]. rewrite Qplus_0_r. unfold magnitude.
        transitivity (sum (ids (read_units t)) (fun i => sum (operator t m) (fun e => Qabs (snd e) * (Qabs (h (read_layer t) (fst e) i) * Qabs (weight t i j))))).
        * apply sum_eq. intros i _. unfold pairs, dot. rewrite map_map. cbn [fst snd]. rewrite mass_map, <- sum_times. apply sum_eq. intros e _. rewrite Qabs_Qmult. ring.
        * rewrite sum_swap. apply sum_eq. intros e _. apply sum_times.
      + rewrite nsum_cons. unfold counted at 1. pose proof (SEEN t It). lia.
      + rewrite nsum_cons. unfold counted at 1. pose proof (SEEN t It). pose proof (inner_in t It) as I. unfold inner_of in I. destruct (row t); [contradiction|]. lia.
      + rewrite nsum_cons. unfold cells at 1. pose proof (SEEN t It). nia.
  Qed.

  Lemma groups_error groups summands : Forall2 (adds A sigma h m j) groups summands -> (forall t, In t (concat groups) -> In t (steps l)) ->
    (nsum (concat groups) counted <= nsum (steps l) counted)%nat -> (nsum (concat groups) cells <= nsum (steps l) cells)%nat ->
    let c := count_of (nsum (concat groups) cells) * (H * W * E) * eta in
    (nonzero (concat summands) <= nsum (concat groups) counted)%nat /\ mass (concat summands) <= pow roundings * (sum (concat groups) magnitude + 10 * c) /\
    forall N, (N <= nsum (steps l) counted - nsum (concat groups) counted + nonzero (concat summands))%nat ->
    (pow N - 1) * mass (concat summands) + Qabs (sum_of (concat summands) - sum (concat groups) exact) <=
      (pow roundings - 1) * sum (concat groups) magnitude + pow roundings * (10 * c).
  Proof.
    intros F. induction F as [|g L gs ss G F IH]; intros IN LS LC; cbv zeta; cbn [concat] in *.
    - cbn [sum fold_right]. change (mass []) with 0. change (sum_of []) with 0. change (count_of (nsum [] cells)) with 0. split; [cbn; lia|]. split; [lra|]. intros N _. change (Qabs (0 - 0)) with 0. lra.
    - rewrite nsum_app in LS, LC. destruct (IH (fun t I => IN t (in_or_app _ _ _ (or_intror I))) ltac:(lia) ltac:(lia)) as (I1 & I2 & I3). clear IH.
      assert (forall t, In t g -> In t (steps l)) as INg by (intros t I; apply IN, in_or_app; left; exact I).
      destruct (group_error g L 0 G INg ltac:(lia) ltac:(lia) ltac:(lia)) as (G1 & G2 & _). cbv zeta in *.
      rewrite !nsum_app, nonzero_app.
      set (w := H * W * E) in *. set (ca := count_of (nsum g cells)) in *. set (cb := count_of (nsum (concat gs) cells)) in *. set (R := pow roundings) in *.
      split; [lia|]. split; [rewrite count_plus, mass_app, sum_app; fold ca cb; clear - G2 I2; lra|]. intros N LN. rewrite count_plus, mass_app, total_app, !sum_app. fold ca cb.
      pose proof (group_error g L N G INg ltac:(lia) ltac:(lia) ltac:(lia)) as (_ & _ & G3). specialize (I3 N ltac:(lia)). cbv zeta in G3. fold w ca R in G3.
      assert (Qabs (sum_of L + sum_of (concat ss) - (sum g exact + sum (concat gs) exact)) <= Qabs (sum_of L - sum g exact) + Qabs (sum_of (concat ss) - sum (concat gs) exact)) as TR.
      { setoid_replace (sum_of L + sum_of (concat ss) - (sum g exact + sum (concat gs) exact)) with ((sum_of L - sum g exact) + (sum_of (concat ss) - sum (concat gs) exact)) by ring. apply Qabs_triangle. }
      clear - G3 I3 TR. lra.
  Qed.

  (* The last word about an entry: `roundings` times the unit roundoff, and a little more, of the magnitudes that are summed. *)
  Theorem row_error groups summands b z : Permutation (concat groups) (steps l) -> becomes A (bias_error l m) (stage_bias l m j) b ->
    Forall2 (adds A sigma h m j) groups summands -> summed A (b :: concat summands) z ->
    let x := count_of roundings * u A in
    Qabs (z - (stage_bias l m j + sum (steps l) exact)) <= (x + x * x) * (sum (steps l) magnitude + Qabs (stage_bias l m j)) + 24 * (all_cells * (H * W * E) * eta).
  Proof.
    intros PE Bb F S x. pose proof (u_small A PRECISION) as [U1 U2]. pose proof (eta_small A PRECISION) as [ET1 ET2]. pose proof scale_one as S1.
    pose proof cells_positive as C1. pose proof (Qabs_nonneg (stage_bias l m j)) as B0.
    destruct (groups_error groups summands F (fun t I => Permutation_in _ PE I) ltac:(rewrite (nsum_perm _ _ _ PE); lia) ltac:(rewrite (nsum_perm _ _ _ PE); lia)) as (G1 & G2 & G3).
    cbv zeta in *. rewrite (nsum_perm _ _ counted PE) in *. rewrite (nsum_perm _ _ cells PE) in *.
    set (N' := (nsum (steps l) counted + 1)%nat).
    assert (nonzero (b :: concat summands) <= N')%nat as NZ by (rewrite nonzero_cons; unfold N'; destruct (is_zero b); lia).
    set (N := pred (nonzero (b :: concat summands))) in *.
    assert (N <= nonzero (concat summands))%nat as LN by (unfold N; rewrite nonzero_cons; destruct (is_zero b); lia).
    specialize (G3 N ltac:(lia)). rewrite (sum_perm _ _ magnitude PE) in G2, G3. rewrite (sum_perm _ _ exact PE) in G3.
    pose proof (sizes_bound (steps l) (fun t I => I)) as SB.
    assert (0 <= sum (steps l) magnitude) as SN by (apply sum_nonneg; intros t _; apply size_nonneg).
    assert (Qabs (stage_bias l m j) < limit) as Lb.
    { eapply Qle_lt_trans; [|exact RANGE]. set (w := H * W * E) in *. assert (0 <= all_cells * w) by (clear - C1 S1; nra). clear - H0 B0. lra. }
    destruct (becomes_iff A _ _ _ Lb Bb) as [_ Db]. set (beta' := bias_error l m) in *.
    assert (count_of beta' * u A <= 1) as BU.
    { pose proof (few beta' ltac:(unfold roundings, beta'; lia)) as FB. clear - FB. lra. }
    pose proof (pow_units A PRECISION beta') as PB'. pose proof (count_nonneg beta') as CB.
    set (beta := Qabs (stage_bias l m j)) in *.
    assert (Qabs b <= (1 + count_of beta' * u A) * beta + eta) as Sb.
    { setoid_replace b with ((b - stage_bias l m j) + stage_bias l m j) by ring. eapply Qle_trans; [apply Qabs_triangle|]. fold beta. clear - Db. lra. }
    set (T := sum (steps l) magnitude) in *. set (Y := sum (steps l) exact) in *.
    assert (count_of N' <= all_cells) as CN.
    { unfold N', all_cells. rewrite count_plus. apply Qplus_le_compat; [|apply Qle_refl]. apply count_le, nsum_le. intros t _. unfold counted, cells. apply Nat.max_lub; nia. }
    assert (pow roundings <= 2) as P2 by (apply (pow_two A PRECISION), few; lia).
    assert (pow N' <= 5 # 2) as PN2.
    { unfold N'. rewrite Nat.add_comm. cbn [Nat.add Roundings.pow].
      pose proof (pow_mono A PRECISION (nsum (steps l) counted) roundings ltac:(unfold roundings; lia)) as PS. pose proof (pow_one A PRECISION (nsum (steps l) counted)) as PS1.
      clear - PS PS1 P2 U1 U2. nra. }
    pose proof (pow_one A PRECISION N') as PN1. pose proof (pow_one A PRECISION roundings) as PR1. pose proof (pow_one A PRECISION N) as PM1.
    set (c := count_of (nsum (steps l) cells) * (H * W * E)) in *. assert (0 <= c) as C0 by (unfold c; pose proof (count_nonneg (nsum (steps l) cells)); clear - H0 S1; nra).
    assert (c + H * W * E == all_cells * (H * W * E)) as CW by (unfold c, all_cells; ring).
    set (w := H * W * E) in *. set (aw := all_cells * w) in *.
    assert (mass (concat summands) <= 22 * c) as M22.
    { assert (c * eta <= c) as J1 by (clear - C0 ET2 ET1; nra). assert (T + 10 * (c * eta) <= 11 * c) as J2 by (clear - SB J1; lra).
      assert (0 <= T + 10 * (c * eta)) as J3 by (clear - SN C0 ET1; nra). set (v := T + 10 * (c * eta)) in *. clearbody v. clear - G2 J2 J3 P2 PR1. nra. }
    assert (all_cells * eta <= aw) as CE by (unfold aw; assert (eta <= w) by (clear - ET2 S1; lra); clear - H0 C1; nra).
    assert (count_of N' * eta <= aw) as NE by (clear - CN CE ET1; nra).
    assert (mass (b :: concat summands) + count_of N' * eta <= 2 * beta + 24 * aw) as MN.
    { rewrite mass_cons. assert (count_of beta' * u A * beta <= beta) as J1 by (clear - BU B0; nra). assert (1 <= aw) as J2 by (unfold aw; clear - C1 S1; nra). clear - Sb M22 NE J1 J2 CW ET2 S1 C0. lra. }
    assert (pow N' * (mass (b :: concat summands) + count_of N' * eta) < limit) as RS.
    { eapply Qle_lt_trans; [|exact RANGE]. pose proof (mass_nonneg (b :: concat summands)) as J1. pose proof (count_nonneg N') as J2.
      assert (0 <= mass (b :: concat summands) + count_of N' * eta) as J3 by (clear - J1 J2 ET1; nra).
      assert (1 <= aw) as J4 by (unfold aw; clear - C1 S1; nra). set (v := mass (b :: concat summands) + count_of N' * eta) in *.
      assert (pow N' * v <= (5 # 2) * (2 * beta + 24 * aw)) as J5 by (clear - PN2 PN1 MN J3; nra). clear - J5 J4 B0. fold beta. lra. }
    pose proof (summed_error A PRECISION N' (mass (b :: concat summands)) (b :: concat summands) z RS S NZ (Qle_refl _)) as SE. fold N in SE.
    rewrite mass_cons, total_cons in SE.
    assert (Qabs (z - (stage_bias l m j + Y)) <= Qabs (z - (b + sum_of (concat summands))) + (Qabs (b - stage_bias l m j) + Qabs (sum_of (concat summands) - Y))) as TR.
    { setoid_replace (z - (stage_bias l m j + Y)) with ((z - (b + sum_of (concat summands))) + ((b - stage_bias l m j) + (sum_of (concat summands) - Y))) by ring.
      eapply Qle_trans; [apply Qabs_triangle|]. apply Qplus_le_compat; [apply Qle_refl|apply Qabs_triangle]. }
    assert (N <= nsum (steps l) counted)%nat as NC by lia.
    assert (pow N * (1 + count_of beta' * u A) <= pow roundings) as PNU.
    { eapply Qle_trans; [|apply (pow_mono A PRECISION (N + beta') roundings); unfold roundings, beta'; lia]. rewrite (pow_add A). clear - PB' PM1. nra. }
    assert (pow N <= 2) as PM2 by (eapply Qle_trans; [apply (pow_mono A PRECISION N roundings); unfold roundings; lia|exact P2]).
    assert (count_of N * eta <= aw) as NE2 by (eapply Qle_trans; [|exact NE]; assert (count_of N <= count_of N') as J1 by (apply count_le; unfold N', N; lia); clear - J1 ET1; nra).
    assert (count_of N * eta <= aw * eta) as NE3.
    { assert (count_of N <= all_cells) as J1 by (eapply Qle_trans; [|exact CN]; apply count_le; unfold N', N; lia). assert (all_cells <= aw) as J2 by (unfold aw; clear - C1 S1; nra). clear - J1 J2 ET1. nra. }
    assert (pow roundings - 1 <= x + x * x) as PX.
    { pose proof (pow_bound A PRECISION roundings) as PB. fold x in PB. assert (x <= 1 # 2) as X1 by (apply few; lia). assert (pow roundings <= 1 + x + x * x) as X2 by (apply PB; lra). clear - X2. lra. }
    assert (eta <= aw * eta) as EA by (assert (1 <= aw) by (unfold aw; clear - C1 S1; nra); clear - H0 ET1; nra).
    set (R := pow roundings) in *. set (P := pow N) in *. clearbody R P.
    assert ((P - 1) * Qabs b <= (P - 1) * ((1 + count_of beta' * u A) * beta + eta)) as Q1 by (clear - Sb PM1; nra).
    assert (P * (1 + count_of beta' * u A) * beta <= R * beta) as Q2 by (clear - PNU B0; nra).
    assert (P * eta <= 2 * (aw * eta)) as Q3 by (clear - PM2 PM1 EA ET1; nra).
    assert (P * (count_of N * eta) <= 2 * (aw * eta)) as Q4.
    { pose proof (count_nonneg N) as J1. assert (0 <= count_of N * eta) as J2 by (clear - J1 ET1; nra). clear - PM2 PM1 NE3 J2. nra. }
    assert (R * (10 * (c * eta)) <= 20 * (aw * eta)) as Q5.
    { assert (c * eta <= aw * eta) as J1 by (clear - CW S1 ET1; nra). assert (0 <= c * eta) as J2 by (clear - C0 ET1; nra). clear - J1 J2 P2 PR1. nra. }
    assert ((R - 1) * (T + beta) <= (x + x * x) * (T + beta)) as Q6 by (clear - PX SN B0; nra).
    clear - SE TR Db G3 Q1 Q2 Q3 Q4 Q5 Q6. lra.
  Qed.
End Row.

(* An entry that an execution adds up, whether its layer is folded or not: sizes of numbers with their parts. *)
Definition adds_up (A : arithmetic) (h : nat -> rows) (l : stage Q) (m j : Z) (z : Q) : Prop :=
  if is_folded l then folded_sum A h l m j z else exists groups summands b, Permutation (concat groups) (steps l) /\ becomes A (bias_error l m) (stage_bias l m j) b /\
    Forall2 (adds A (weight_error l) h m j) groups summands /\ summed A (b :: concat summands) z.

Lemma with_parts_le x p : Qabs x <= with_parts x p.
Proof. apply Q.le_max_l. Qed.

Section Sized.
  Variables (A : arithmetic) (l : stage Q) (h : nat -> rows) (m j : Z) (H W E : Q).
  Hypothesis PRECISION : (2 <= precision A)%Z.
  Definition plainly (t : reader Q) : bool := forallb (fun e => forallb (fun i => Qeq_bool (h (read_layer t) (fst e) i) 0 || Qeq_bool (h (read_layer t) (fst e) i) 1)
    (ids (read_units t))) (operator t m).
  Definition live (t : reader Q) : nat := length (filter (seen h m t) (ids (read_units t))).
  Definition sized (t : reader Q) : Q := sum (operator t m) (fun e => Qabs (snd e) *
    sum (ids (read_units t)) (fun i => Qabs (h (read_layer t) (fst e) i) * with_parts (weight t i j) (parts_size t i j))).
  Let n := roundings l m live plainly.
  Let b := with_parts (stage_bias l m j) (bias_parts l m j).
  Hypothesis BOUNDS : 1 <= H /\ 1 <= W /\ 1 <= E.
  Hypothesis INPUTS : forall t e i, In t (steps l) -> In e (operator t m) -> In i (ids (read_units t)) -> Qabs (h (read_layer t) (fst e) i) <= H.
  Hypothesis WEIGHTS : forall t i, In t (steps l) -> In i (ids (read_units t)) -> with_parts (weight t i j) (parts_size t i j) <= W.
  Hypothesis OPERATORS : forall t e, In t (steps l) -> In e (operator t m) -> Qabs (snd e) <= E.
  Hypothesis FEW : count_of n * u A <= 1 # 2.
  Hypothesis RANGE : 128 * (all_cells l m live * (H * W * E) + b) < inject_Z (2 ^ 127).

  Theorem sized_error z : adds_up A h l m j z -> let x := count_of n * u A in
    Qabs (z - (stage_bias l m j + sum (steps l) (exact h m j))) <= (x + x * x) * (sum (steps l) sized + b) + 24 * (all_cells l m live * (H * W * E) * eta A).
  Proof.
    intros C x. assert (Qabs (stage_bias l m j) <= b) as B by apply with_parts_le. pose proof (Qabs_nonneg (stage_bias l m j)) as B0.
    assert (pow A n - 1 <= x + x * x) as PX.
    { pose proof (pow_bound A PRECISION n) as PB. fold x in PB. assert (x <= 1 # 2) as X1 by exact FEW.
      assert (pow A n <= 1 + x + x * x) as X2 by (apply PB; lra). clear - X2. lra. }
    assert (0 <= x) as X0 by (unfold x; pose proof (u_small A PRECISION) as [U1 _]; pose proof (count_nonneg n) as N; clear - U1 N; nra).
    assert (forall t, In t (steps l) -> magnitude h m j t <= sized t) as MS.
    { intros t It. apply sum_le. intros e _. rewrite !(Qmult_comm (Qabs (snd e))). apply Qmult_le_compat_r; [|apply Qabs_nonneg].
      apply sum_le. intros i _. rewrite !(Qmult_comm (Qabs (h _ _ _))). apply Qmult_le_compat_r; [apply with_parts_le|apply Qabs_nonneg]. }
    assert (sum (steps l) (magnitude h m j) <= sum (steps l) sized) as MM by (apply sum_le; exact MS).
    assert (0 <= sum (steps l) (magnitude h m j)) as M0 by (apply sum_nonneg; intros t _; apply size_nonneg).
    unfold adds_up in C. destruct (is_folded l).
    - specialize (C n H W E). cbv zeta in C. eapply Qle_trans; [apply C; clear C|].
      + unfold n, roundings, inner. apply Nat.add_le_mono_l, Nat.le_max_r.
      + intros t It NE. unfold n, roundings. apply Nat.add_le_mono; [apply Nat.le_refl|]. etransitivity; [|apply Nat.le_max_l].
        etransitivity; [|apply (inner_in l m live plainly t It)]. unfold inner_of, product, row. destruct (length (operator t m)); [contradiction|]. apply Nat.le_refl.
      + exact BOUNDS.
      + exact INPUTS.
      + exact WEIGHTS.
      + exact OPERATORS.
      + exact FEW.
      + exact RANGE.
      + assert ((1 + / inject_Z (2 ^ precision A)) ^ Z.of_nat n == pow A n) as -> by exact (power_pow A PRECISION n).
        apply Qplus_le_compat; [|apply Qle_refl].
        apply Qmult_le_compat_r; [exact PX|]. change (0 <= sum (steps l) sized + b). clearbody b. clear - MM M0 B B0. lra.
    - destruct C as (groups & summands & c & PE & Bb & F & S).
      assert (forall t e i, In t (steps l) -> plainly t = true -> In e (operator t m) -> In i (ids (read_units t)) ->
        h (read_layer t) (fst e) i == 0 \/ h (read_layer t) (fst e) i == 1) as PLAIN.
      { intros t e i _ P Ie Ii. unfold plainly in P. rewrite forallb_forall in P. specialize (P e Ie). rewrite forallb_forall in P. specialize (P i Ii).
        apply orb_prop in P as [P|P]; apply Qeq_bool_iff in P; auto. }
      eapply Qle_trans; [apply (row_error A l h m j live H W E PRECISION plainly PLAIN BOUNDS INPUTS) with (groups := groups) (summands := summands) (b := c); auto|].
      + intros t i It Ii. eapply Qle_trans; [apply with_parts_le|apply WEIGHTS; assumption].
      + eapply Qle_lt_trans; [|exact RANGE]. clear - B. lra.
      + apply Qplus_le_compat; [|apply Qle_refl]. fold n x. clear - B B0 MM M0 X0. nra.
  Qed.
End Sized.

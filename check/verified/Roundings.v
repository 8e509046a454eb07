(* Roundings: how far sums in any order, and a coefficient times a sum of products, are from the exact ones. *)
From Coq Require Import ZArith QArith Qabs Qpower List Bool Lia Lqa Permutation.
From Verified Require Import Spec.
Import ListNotations.
Open Scope Q_scope.

Definition count_of (n : nat) : Q := inject_Z (Z.of_nat n).
Definition is_zero (x : Q) : bool := Qeq_bool x 0.
Definition nonzero (L : list Q) : nat := length (filter (fun x => negb (is_zero x)) L).
Definition sum_of (L : list Q) : Q := fold_right Qplus 0 L.
Definition mass (L : list Q) : Q := fold_right (fun x rest => Qabs x + rest) 0 L.

Lemma count_S n : count_of (S n) == count_of n + 1.
Proof. unfold count_of. rewrite Nat2Z.inj_succ, <- Z.add_1_r, inject_Z_plus. reflexivity. Qed.

Lemma count_plus a b : count_of (a + b) == count_of a + count_of b.
Proof. unfold count_of. rewrite Nat2Z.inj_add, inject_Z_plus. reflexivity. Qed.

Lemma count_le a b : (a <= b)%nat -> count_of a <= count_of b.
Proof. intros H. unfold count_of. rewrite <- Zle_Qle. lia. Qed.

Lemma count_nonneg a : 0 <= count_of a.
Proof. exact (count_le 0 a (Nat.le_0_l a)). Qed.

Lemma is_zero_spec x : is_zero x = true <-> x == 0.
Proof. apply Qeq_bool_iff. Qed.

Lemma mass_cons x l : mass (x :: l) = Qabs x + mass l.
Proof. reflexivity. Qed.

Lemma total_cons x l : sum_of (x :: l) = x + sum_of l.
Proof. reflexivity. Qed.

Lemma mass_app l r : mass (l ++ r) == mass l + mass r.
Proof. induction l as [|a l IH]; cbn [app]; rewrite ?mass_cons; [change (mass []) with 0; ring|]. rewrite IH. ring. Qed.

Lemma total_app l r : sum_of (l ++ r) == sum_of l + sum_of r.
Proof. induction l as [|a l IH]; cbn [app]; rewrite ?total_cons; [change (sum_of []) with 0; ring|]. rewrite IH. ring. Qed.

Lemma nonzero_app l r : nonzero (l ++ r) = (nonzero l + nonzero r)%nat.
Proof. unfold nonzero. rewrite filter_app, app_length. reflexivity. Qed.

Lemma nonzero_cons x l : nonzero (x :: l) = ((if is_zero x then 0 else 1) + nonzero l)%nat.
Proof. unfold nonzero. cbn [filter]. destruct (is_zero x); reflexivity. Qed.

Lemma nonzero_length l : (nonzero l <= length l)%nat.
Proof. induction l as [|x l IH]; [reflexivity|]. rewrite nonzero_cons. cbn [length]. destruct (is_zero x); lia. Qed.

Lemma mass_nonneg l : 0 <= mass l.
Proof. induction l as [|a l IH]; [discriminate|]. rewrite mass_cons. pose proof (Qabs_nonneg a). lra. Qed.

Lemma mass_perm l r : Permutation l r -> mass l == mass r.
Proof. induction 1; rewrite ?mass_cons; lra. Qed.

Lemma total_perm l r : Permutation l r -> sum_of l == sum_of r.
Proof. induction 1; rewrite ?total_cons; lra. Qed.

Lemma nonzero_perm l r : Permutation l r -> nonzero l = nonzero r.
Proof. induction 1; rewrite ?nonzero_cons; try lia. Qed.

Lemma abs_iff x b : Qabs x <= b <-> - b <= x /\ x <= b.
Proof. rewrite Qabs_Qle_condition. reflexivity. Qed.

Lemma total_mass l : Qabs (sum_of l) <= mass l.
Proof.
  induction l as [|a l IH]; [discriminate|]. rewrite total_cons, mass_cons. eapply Qle_trans; [apply Qabs_triangle|]. lra.
Qed.

Lemma total_none l : nonzero l = 0%nat -> sum_of l == 0 /\ mass l == 0.
Proof.
  induction l as [|a l IH]; [intros _; split; reflexivity|]. rewrite nonzero_cons. destruct (is_zero a) eqn:E; [|discriminate]. intros H.
  destruct (IH H) as [H1 H2]. apply is_zero_spec in E. rewrite total_cons, mass_cons, H1, H2, E. split; reflexivity.
Qed.

Section Rounded.
  Variable A : arithmetic.
  Definition u : Q := / inject_Z (2 ^ precision A).
  Definition eta : Q := (if flushes A then 1 else u) * / inject_Z (2 ^ 126).
  Notation limit := (inject_Z (2 ^ 127)).
  Hypothesis PRECISION : (2 <= precision A)%Z.

  Lemma u_small : 0 < u /\ u <= 1 # 4.
  Proof.
    unfold u. assert (inject_Z 4 <= inject_Z (2 ^ precision A)) as H.
    { rewrite <- Zle_Qle. change 4%Z with (2 ^ 2)%Z. apply Z.pow_le_mono_r; lia. }
    assert (0 < inject_Z (2 ^ precision A)) as Z0 by (change (inject_Z 4) with 4 in H; lra).
    split; [apply Qinv_lt_0_compat; exact Z0|]. change (1 # 4) with (/ inject_Z 4). apply Qle_shift_inv_l; [reflexivity|].
    rewrite Qmult_comm. apply Qle_shift_div_r; [exact Z0|]. rewrite Qmult_1_l. exact H.
  Qed.

  Lemma eta_small : 0 < eta /\ eta <= 1.
  Proof.
    pose proof u_small as [U1 U2]. unfold eta. assert (0 < / inject_Z (2 ^ 126) /\ / inject_Z (2 ^ 126) <= 1) as [H1 H2] by (split; vm_compute; [reflexivity|discriminate]).
    set (x := / inject_Z (2 ^ 126)) in *. clearbody x. destruct (flushes A); nra.
  Qed.

  Lemma becomes_iff k x y : Qabs x < limit -> becomes A k x y -> (x == 0 -> y == 0) /\ Qabs (y - x) <= count_of k * u * Qabs x + eta.
  Proof. intros L H. exact (H L). Qed.

  Fixpoint pow (n : nat) : Q := match n with O => 1 | S k => (1 + u) * pow k end.

  Lemma pow_one n : 1 <= pow n.
  Proof. pose proof u_small. induction n as [|n IH]; cbn [pow]; [lra|nra]. Qed.

  Lemma pow_add a b : pow (a + b) == pow a * pow b.
  Proof. induction a as [|a IH]; cbn [pow Nat.add]; [ring|]. rewrite IH. ring. Qed.

  Lemma pow_mono a b : (a <= b)%nat -> pow a <= pow b.
  Proof.
    intros H. replace b with (a + (b - a))%nat by lia. rewrite pow_add. pose proof (pow_one a). pose proof (pow_one (b - a)). nra.
  Qed.

  Lemma pow_units k : 1 + count_of k * u <= pow k.
  Proof. pose proof u_small. induction k as [|k IH]; [change (count_of 0) with 0; cbn [pow]; lra|]. rewrite count_S. cbn [pow]. pose proof (count_nonneg k). nra. Qed.

  Lemma pow_bound n : count_of n * u <= 1 -> pow n <= 1 + count_of n * u + (count_of n * u) * (count_of n * u).
  Proof.
    pose proof u_small. induction n as [|n IH]; intros H1; [change (count_of 0) with 0 in *; cbn [pow]; lra|].
    rewrite count_S in *. cbn [pow]. pose proof (count_nonneg n). set (c := count_of n) in *. clearbody c.
    assert (pow n <= 1 + c * u + c * u * (c * u)) as B by (apply IH; nra). clear IH. set (p := pow n) in *. clearbody p.
    assert (c * u * (c * u) * u <= c * u * u) by (assert (c * u <= 1) by nra; assert (0 <= c * u) by nra; nra). nra.
  Qed.

  Lemma pow_two n : count_of n * u <= 1 # 2 -> pow n <= 2.
  Proof. intros H. pose proof u_small. pose proof (count_nonneg n). eapply Qle_trans; [apply pow_bound; lra|]. assert (0 <= count_of n * u) by nra. nra. Qed.

  Lemma power_pow n : (1 + u) ^ Z.of_nat n == pow n.
  Proof.
    pose proof u_small as [U _]. induction n as [|n IH]; [reflexivity|]. rewrite Nat2Z.inj_succ. unfold Z.succ. rewrite Qpower_plus by (intros C; clear - C U; lra).
    rewrite IH. cbn [pow]. change ((1 + u) ^ 1) with (1 + u). ring.
  Qed.

  (* A sum of so many numbers that are not 0 passes one addition less. *)
  Lemma summed_error N bound L x : pow N * (bound + count_of N * eta) < limit -> summed A L x ->
    (nonzero L <= N)%nat -> mass L <= bound ->
    Qabs (x - sum_of L) <= (pow (pred (nonzero L)) - 1) * mass L + pow (pred (nonzero L)) * (count_of (pred (nonzero L)) * eta).
  Proof.
    intros RANGE S. pose proof u_small as [U1 U2]. pose proof eta_small as [E1 E2].
    induction S as [|x|l r x PE S IH|l r x y z Sl IHl Sr IHr Zx Zy B]; intros HN HM.
    - unfold sum_of, mass, nonzero. cbn [fold_right filter length pred pow]. change (count_of 0) with 0. apply abs_iff. lra.
    - assert (x - sum_of [x] == 0) as -> by (unfold sum_of; cbn [fold_right]; ring). change (Qabs 0) with 0.
      set (n := pred (nonzero [x])). pose proof (pow_one n). pose proof (count_nonneg n). pose proof (mass_nonneg [x]).
      assert (0 <= count_of n * eta) by nra. nra.
    - rewrite <- (nonzero_perm l r PE), <- (mass_perm l r PE), <- (total_perm l r PE). apply IH; [rewrite (nonzero_perm l r PE)|rewrite (mass_perm l r PE)]; assumption.
    - rewrite nonzero_app in *. rewrite mass_app in *. rewrite total_app.
      pose proof (mass_nonneg l) as Ml. pose proof (mass_nonneg r) as Mr.
      assert (Qabs (x - sum_of l) <= (pow (pred (nonzero l)) - 1) * mass l + pow (pred (nonzero l)) * (count_of (pred (nonzero l)) * eta)) as Bl by (apply IHl; [lia|lra]).
      assert (Qabs (y - sum_of r) <= (pow (pred (nonzero r)) - 1) * mass r + pow (pred (nonzero r)) * (count_of (pred (nonzero r)) * eta)) as Br by (apply IHr; [lia|lra]).
      clear IHl IHr. destruct (Nat.eq_dec (nonzero l) 0) as [El|El]; [|destruct (Nat.eq_dec (nonzero r) 0) as [Er|Er]].
      + destruct (total_none l El) as [T0 M0]. rewrite El, T0, M0 in *. cbn [pred pow Nat.add] in *. change (count_of 0) with 0 in Bl.
        assert (x == 0) as X0 by (apply abs_iff in Bl; lra). rewrite (Zx X0). setoid_replace (y - (0 + sum_of r)) with (y - sum_of r) by ring. rewrite Qplus_0_l. exact Br.
      + destruct (total_none r Er) as [T0 M0]. rewrite Er, T0, M0 in *. cbn [pred pow] in *. change (count_of 0) with 0 in Br.
        assert (y == 0) as Y0 by (apply abs_iff in Br; lra). rewrite (Zy Y0), Nat.add_0_r. setoid_replace (x - (sum_of l + 0)) with (x - sum_of l) by ring. rewrite Qplus_0_r. exact Bl.
      + set (a := pred (nonzero l)) in *. set (b := pred (nonzero r)) in *.
        replace (pred (nonzero l + nonzero r)) with (S (a + b)) by (unfold a, b; lia).
        assert (S (a + b) <= N)%nat as LE by (unfold a, b; lia).
        pose proof (pow_mono a (a + b) ltac:(lia)) as Pa. pose proof (pow_mono b (a + b) ltac:(lia)) as Pb. pose proof (pow_mono (a + b) N ltac:(lia)) as PN.
        pose proof (count_le (a + b) N ltac:(lia)) as CN.
        rewrite count_S, count_plus in *. cbn [pow]. pose proof (count_nonneg a) as Ca. pose proof (count_nonneg b) as Cb. pose proof (pow_one (a + b)) as P1.
        pose proof (total_mass l) as Tl. pose proof (total_mass r) as Tr.
        set (P := pow (a + b)) in *. set (pa := pow a) in *. set (pb := pow b) in *. set (qa := count_of a) in *. set (qb := count_of b) in *.
        set (sl := mass l) in *. set (sr := mass r) in *. set (X := sum_of l) in *. set (Y := sum_of r) in *.
        assert (Qabs (x - X) <= (P - 1) * sl + P * (qa * eta)) as Bl'.
        { eapply Qle_trans; [exact Bl|]. clear - Pa Ml Ca E1. assert (0 <= qa * eta) by nra. nra. }
        assert (Qabs (y - Y) <= (P - 1) * sr + P * (qb * eta)) as Br'.
        { eapply Qle_trans; [exact Br|]. clear - Pb Mr Cb E1. assert (0 <= qb * eta) by nra. nra. }
        assert (Qabs (x + y) <= P * (sl + sr) + P * ((qa + qb) * eta)) as XY.
        { apply abs_iff in Bl', Br', Tl, Tr. apply abs_iff. split; lra. }
        assert (Qabs (x + y) < limit) as LIM.
        { eapply Qle_lt_trans; [exact XY|]. eapply Qle_lt_trans; [|exact RANGE].
          assert (sl + sr + (qa + qb) * eta <= bound + count_of N * eta) by (clear - HM CN E1; nra).
          assert (0 <= sl + sr + (qa + qb) * eta) by (clear - Ml Mr Ca Cb E1; nra).
          setoid_replace (P * (sl + sr) + P * ((qa + qb) * eta)) with (P * (sl + sr + (qa + qb) * eta)) by ring.
          clear - PN P1 H H0. nra. }
        destruct (becomes_iff _ _ _ LIM B) as [_ Bz]. change (count_of 1) with 1 in Bz. rewrite Qmult_1_l in Bz.
        assert (u * Qabs (x + y) <= u * (P * (sl + sr) + P * ((qa + qb) * eta))) as Ub by (apply Qmult_le_l; assumption).
        apply abs_iff in Bl', Br', Bz. clear - Bl' Br' Bz Ub P1 U1 E1. set (w := u * Qabs (x + y)) in *. clearbody w.
        assert (1 <= (1 + u) * P) by nra. assert (0 <= ((1 + u) * P - 1) * eta) by nra. apply abs_iff. split; nra.
  Qed.

  Lemma summed_nothing L x : summed A L x -> nonzero L = 0%nat -> x == 0.
  Proof.
    induction 1 as [|x|l r x PE S IH|l r x y z Sl IHl Sr IHr Zx Zy B]; intros N; [reflexivity| | |].
    - rewrite nonzero_cons in N. destruct (is_zero x) eqn:E; [apply is_zero_spec; exact E|discriminate N].
    - apply IH. rewrite (nonzero_perm l r PE). exact N.
    - rewrite nonzero_app in N. rewrite (Zx (IHl ltac:(lia))). apply IHr. lia.
  Qed.

  (* A product passes p roundings of its own: none where one factor is 0 or 1. *)
  Lemma product_error k p h c e y H C : becomes A k c e -> becomes A 1 (h * e) y -> (h == 1 -> y == e) -> (p = 0%nat -> h == 0 \/ h == 1) ->
    Qabs h <= H -> Qabs c <= C -> 1 <= H -> 1 <= C -> count_of k * u <= 1 -> 3 * H * C < limit ->
    (h == 0 -> y == 0) /\ Qabs (y - h * c) <= (pow (p + k) - 1) * Qabs (h * c) + 3 * H * eta.
  Proof.
    intros Be By B1 P0 Hh Hc H1 C1 K R. pose proof u_small as [U1 U2]. pose proof eta_small as [E1 E2].
    assert (Qabs c < limit) as Lc by (eapply Qle_lt_trans; [exact Hc|]; eapply Qle_lt_trans; [|exact R]; clear - H1 C1; nra).
    destruct (becomes_iff _ _ _ Lc Be) as [_ De]. clear Be.
    pose proof (Qabs_nonneg h) as A0. pose proof (Qabs_nonneg c) as B0. pose proof (pow_units k) as PU. pose proof (count_nonneg k) as K0.
    assert (Qabs e <= Qabs c + (count_of k * u * Qabs c + eta)) as Se.
    { setoid_replace e with (c + (e - c)) by ring. eapply Qle_trans; [apply Qabs_triangle|]. apply Qplus_le_compat; [apply Qle_refl|exact De]. }
    assert (Qabs (h * e) <= Qabs h * (Qabs c + (count_of k * u * Qabs c + eta))) as She by (rewrite Qabs_Qmult; clear - A0 Se; nra).
    assert (Qabs (h * e) < limit) as Lh.
    { eapply Qle_lt_trans; [exact She|]. eapply Qle_lt_trans; [|exact R]. clear - K Hh Hc H1 C1 A0 B0 E1 E2 K0 U1.
      set (x := count_of k * u) in *. assert (0 <= x) by (unfold x; nra). clearbody x. set (a := Qabs h) in *. set (b := Qabs c) in *. clearbody a b.
      assert (b + (x * b + eta) <= 3 * C) by nra. assert (0 <= b + (x * b + eta)) by nra. set (w := b + (x * b + eta)) in *. clearbody w. nra. }
    destruct (becomes_iff _ _ _ Lh By) as [Zy Dy]. change (count_of 1) with 1 in Dy. rewrite Qmult_1_l in Dy.
    assert (h == 0 -> y == 0) as ZERO by (intros Z0; apply Zy; rewrite Z0; ring). split; [exact ZERO|].
    destruct p as [|p].
    - destruct (P0 eq_refl) as [Z0|O].
      + rewrite (ZERO Z0). setoid_replace (0 - h * c) with 0 by (rewrite Z0; ring). change (Qabs 0) with 0. pose proof (pow_one (0 + k)) as P1. pose proof (Qabs_nonneg (h * c)) as V0.
        clear - P1 V0 H1 E1. assert (0 <= H * eta) by nra. nra.
      + rewrite (B1 O). setoid_replace (e - h * c) with (e - c) by (rewrite O; ring). setoid_replace (h * c) with c by (rewrite O; ring). cbn [Nat.add].
        assert (eta <= 3 * H * eta) as EE by (clear - H1 E1; nra). set (b := Qabs c) in *. set (x := count_of k * u) in *. clear - De PU B0 EE. nra.
    - assert (Qabs (h * e - h * c) <= Qabs h * (count_of k * u * Qabs c + eta)) as Dm
        by (setoid_replace (h * e - h * c) with (h * (e - c)) by ring; rewrite Qabs_Qmult; clear - A0 De; nra).
      setoid_replace (y - h * c) with ((y - h * e) + (h * e - h * c)) by ring. eapply Qle_trans; [apply Qabs_triangle|]. rewrite (Qabs_Qmult h c).
      pose proof (pow_mono (S k) (S p + k) ltac:(lia)) as PM. cbn [pow] in PM.
      set (a := Qabs h) in *. set (b := Qabs c) in *. set (x := count_of k * u) in *. set (v := Qabs (h * e)) in *.
      assert (0 <= a * b) as AB by (clear - A0 B0; nra).
      assert (u * v <= u * (a * (b + (x * b + eta)))) as Uv by (clear - U1 She; nra).
      assert ((1 + u) * (1 + x) * (a * b) <= (1 + u) * pow k * (a * b)) as PP by (assert (0 <= (1 + u) * (a * b)) as AU by (clear - AB U1; nra); clear - PU AU; nra).
      assert ((1 + u) * pow k * (a * b) <= pow (S p + k) * (a * b)) as PQ by (clear - PM AB; nra).
      assert (a * eta * (1 + u) + eta <= 3 * H * eta) as EE by (clear - Hh H1 A0 U1 U2 E1; assert (a * (1 + u) + 1 <= 3 * H) by nra; nra).
      clear - Dy Dm Uv PP PQ EE. lra.
  Qed.

  Definition dot (pairs : list (Q * Q)) : list Q := map (fun p => fst p * snd p) pairs.

  Lemma products_error k p H C pairs products : 1 <= H -> 1 <= C -> count_of k * u <= 1 -> 3 * H * C < limit ->
    (forall f, In f pairs -> Qabs (fst f) <= H /\ Qabs (snd f) <= C) -> (p = 0%nat -> forall f, In f pairs -> fst f == 0 \/ fst f == 1) ->
    Forall2 (fun f y => exists e, becomes A k (snd f) e /\ becomes A 1 (fst f * e) y /\ (fst f == 1 -> y == e)) pairs products ->
    let d := count_of (nonzero (map fst pairs)) in
    (nonzero products <= nonzero (map fst pairs))%nat /\ mass (dot pairs) <= d * (H * C) /\
    mass products <= pow (p + k) * mass (dot pairs) + d * (3 * H * eta) /\
    Qabs (sum_of products - sum_of (dot pairs)) <= (pow (p + k) - 1) * mass (dot pairs) + d * (3 * H * eta).
  Proof.
    intros H1 C1 K R. pose proof eta_small as [E1 E2]. revert products. induction pairs as [|f pairs IH]; intros products SMALL ONES F; inversion F as [|? y ? ys (e & Be & By & B1) F']; subst.
    - cbv zeta. cbn [map dot nonzero filter length]. change (count_of 0) with 0. change (mass []) with 0. change (sum_of []) with 0.
      split; [reflexivity|]. split; [lra|]. split; [lra|]. apply abs_iff. lra.
    - destruct (SMALL f (or_introl eq_refl)) as [Sh Sc].
      destruct (product_error k p _ _ e y H C Be By B1 (fun Z => ONES Z f (or_introl eq_refl)) Sh Sc H1 C1 K R) as [Z1 Dy].
      destruct (IH ys (fun q I => SMALL q (or_intror I)) (fun Z q I => ONES Z q (or_intror I)) F') as (N & M & T & D). clear IH. cbv zeta. cbn [map dot]. fold (dot pairs). rewrite !nonzero_cons, !mass_cons, !total_cons.
      pose proof (Qabs_nonneg (fst f)) as A0. pose proof (Qabs_nonneg (snd f)) as B0.
      destruct (is_zero (fst f)) eqn:Ez.
      + apply is_zero_spec in Ez. assert (is_zero y = true) as Ey by (apply is_zero_spec; auto). rewrite Ey. cbn [Nat.add]. apply is_zero_spec in Ey.
        assert (fst f * snd f == 0) as Em by (rewrite Ez; ring). split; [exact N|]. rewrite Em, Ey. change (Qabs 0) with 0. split; [|split].
        * rewrite Qplus_0_l. exact M.
        * rewrite !Qplus_0_l. exact T.
        * rewrite !Qplus_0_l. exact D.
      + assert (Qabs (fst f * snd f) <= H * C) as HC by (rewrite Qabs_Qmult; clear - Sh Sc A0 B0 H1 C1; nra).
        cbn [Nat.add]. rewrite count_S. set (d := count_of (nonzero (map fst pairs))) in *. set (w := fst f * snd f) in *. set (P := pow (p + k)) in *.
        split; [destruct (is_zero y); lia|]. split; [|split].
        * clear - M HC. lra.
        * assert (Qabs y <= P * Qabs w + 3 * H * eta).
          { setoid_replace y with ((y - w) + w) by ring. eapply Qle_trans; [apply Qabs_triangle|]. clear - Dy. lra. }
          clear - T H0. lra.
        * setoid_replace (y + sum_of ys - (w + sum_of (dot pairs))) with ((y - w) + (sum_of ys - sum_of (dot pairs))) by ring.
          eapply Qle_trans; [apply Qabs_triangle|]. clear - D Dy. lra.
  Qed.

  (* A coefficient times a sum of at most D products that are not 0. *)
  Lemma times_sum_error ki ko p D H C C' pairs c x : times_sum A ki ko pairs c x -> (nonzero (map fst pairs) <= D)%nat ->
    1 <= H -> 1 <= C -> 1 <= C' -> (forall f, In f pairs -> Qabs (fst f) <= H /\ Qabs (snd f) <= C) -> (p = 0%nat -> forall f, In f pairs -> fst f == 0 \/ fst f == 1) -> Qabs c <= C' ->
    count_of (D + (p + ki) + ko) * u <= 1 # 2 -> 64 * ((count_of D + 1) * (H * C * C')) < limit ->
    (nonzero (map fst pairs) = 0%nat -> x == 0) /\ mass (dot pairs) <= count_of D * (H * C) /\
    Qabs (x - c * sum_of (dot pairs)) <= (pow (D + (p + ki) + ko) - 1) * (Qabs c * mass (dot pairs)) + pow (D + (p + ki) + ko) * ((9 * count_of D + 1) * (H * C * C') * eta).
  Proof.
    intros (products & tot & d & F & S & Bd & Bx) HD H1 C1 C1' SMALL ONES Sc KU R. pose proof u_small as [U1 U2]. pose proof eta_small as [E1 E2].
    pose proof (count_nonneg D) as D0. pose proof (count_nonneg ki) as Ki0. pose proof (count_nonneg ko) as Ko0.
    assert (count_of ki * u <= 1 /\ count_of ko * u <= 1) as [KI KO].
    { pose proof (count_nonneg p) as P0. rewrite !count_plus in KU. clear - KU U1 D0 Ki0 Ko0 P0. split; nra. }
    assert (1 <= H * C) as HC by (clear - H1 C1; nra). assert (1 <= H * C * C') as HCC by (clear - HC C1'; nra).
    assert (H * C <= H * C * C') as HCL by (clear - HC C1'; nra).
    assert (3 * H * C < limit) as R3 by (eapply Qle_lt_trans; [|exact R]; clear - HCL HCC D0; set (w := H * C * C') in *; clearbody w; nra).
    destruct (products_error ki p H C pairs products H1 C1 KI R3 SMALL ONES F) as (N & M & T & DD). cbv zeta in *.
    assert (count_of (nonzero (map fst pairs)) <= count_of D) as CD by (apply count_le; exact HD).
    pose proof (count_nonneg (nonzero (map fst pairs))) as CN. set (cn := count_of (nonzero (map fst pairs))) in *.
    assert (mass (dot pairs) <= count_of D * (H * C)) as M' by (clear - M CD HC; nra).
    pose proof (mass_nonneg (dot pairs)) as M0. pose proof (total_mass (dot pairs)) as TM.
    set (m := mass (dot pairs)) in *. set (q := sum_of (dot pairs)) in *. set (Pk := pow (p + ki)) in *.
    assert (nonzero (map fst pairs) = 0%nat -> tot == 0) as TZ by (intros Z0; apply (summed_nothing products tot S); lia).
    assert (nonzero (map fst pairs) = 0%nat -> x == 0) as XZ.
    { intros Z0. assert (d * tot == 0) as Z1 by (rewrite (TZ Z0); ring).
      apply Bx; [|exact Z1]. rewrite Z1. change (Qabs 0) with 0. eapply Qle_lt_trans; [|exact R]. clear - D0 HCC. set (w := H * C * C') in *. clearbody w. nra. }
    destruct (Nat.eq_dec D 0) as [ZD|ND].
    { assert (nonzero (map fst pairs) = 0%nat) as Z0 by lia. unfold cn in M. rewrite Z0 in M. change (count_of 0) with 0 in M.
      assert (m == 0) as Z1 by (clear - M M0; lra). assert (q == 0) as Z2 by (apply abs_iff in TM; lra). split; [exact XZ|]. split; [exact M'|].
      setoid_replace (x - c * q) with 0 by (rewrite (XZ Z0), Z2; ring). change (Qabs 0) with 0. set (PK := pow (D + (p + ki) + ko)).
      assert (1 <= PK) as PK1 by apply pow_one. pose proof (Qabs_nonneg c) as B0. assert (0 <= Qabs c * m) as BM by (clear - B0 M0; nra).
      assert (0 <= (9 * count_of D + 1) * (H * C * C') * eta) as UN.
      { assert (0 <= (9 * count_of D + 1) * (H * C * C')) as UN' by (clear - D0 HCC; nra). clear - UN' E1. nra. }
      clear - PK1 BM UN. nra. }
    assert (1 <= Pk) as Pk1 by apply pow_one.
    assert (pow (D + (p + ki) + ko) <= 2) as PK2 by (apply pow_two; exact KU).
    assert (Pk <= 2) as Pk2 by (eapply Qle_trans; [|exact PK2]; apply pow_mono; lia).
    assert (pow D <= 2) as PD2 by (eapply Qle_trans; [|exact PK2]; apply pow_mono; lia).
    assert (cn * (3 * H * eta) <= 3 * count_of D * H * eta) as CE by (clear - CD H1 E1; assert (0 <= 3 * H * eta) by nra; nra).
    assert (pow D * (mass products + count_of D * eta) < limit) as RS.
    { eapply Qle_lt_trans; [|exact R]. pose proof (pow_one D) as PD1. pose proof (mass_nonneg products) as Mp.
      assert (mass products + count_of D * eta <= 6 * (count_of D * (H * C))) as B6.
      { assert (Pk * m <= 2 * (count_of D * (H * C))) by (clear - Pk2 M' M0 Pk1; nra).
        assert (3 * count_of D * H * eta <= 3 * (count_of D * (H * C))) by (clear - D0 H1 C1 E1 E2; assert (0 <= count_of D * H) by nra; assert (eta <= C) by lra; nra).
        assert (count_of D * eta <= count_of D * (H * C)) by (clear - D0 HC E2; nra). clear - T CE H0 H2 H3. lra. }
      assert (0 <= mass products + count_of D * eta) by (clear - Mp D0 E1; nra).
      assert (count_of D * (H * C) <= (count_of D + 1) * (H * C * C')) by (clear - D0 HCL HC; nra).
      set (w := mass products + count_of D * eta) in *. clear - PD2 PD1 B6 H0 H2 D0 HCC. nra. }
    pose proof (summed_error D (mass products) products tot RS S ltac:(lia) (Qle_refl _)) as SE.
    assert (Qabs c < limit) as Lc by (eapply Qle_lt_trans; [exact Sc|]; eapply Qle_lt_trans; [|exact R]; assert (C' <= H * C * C') as CW by (clear - HC C1'; nra); clear - CW C1' D0; set (w := H * C * C') in *; clearbody w; nra).
    destruct (becomes_iff _ _ _ Lc Bd) as [_ Dd]. pose proof (Qabs_nonneg c) as B0. set (b := Qabs c) in *.
    set (y := count_of ko * u) in *. assert (0 <= y) as Y0 by (unfold y; clear - Ko0 U1; nra).
    assert (Qabs d <= (1 + y) * b + eta) as Sd.
    { setoid_replace d with (c + (d - c)) by ring. eapply Qle_trans; [apply Qabs_triangle|]. fold b. clear - Dd. lra. }
    set (P1 := pow (pred D + (p + ki))) in *. assert (1 <= P1) as P11 by apply pow_one.
    assert (P1 <= 2) as P12 by (eapply Qle_trans; [|exact PK2]; apply pow_mono; lia).
    set (G := 4 * (count_of D * H * eta) * P1). assert (0 <= count_of D * H * eta) as DHE by (clear - D0 H1 E1; assert (0 <= count_of D * H) by nra; nra).
    assert (0 <= G) as G0 by (unfold G; clear - DHE P11; nra).
    assert (Qabs (tot - q) <= (P1 - 1) * m + G) as Dt.
    { set (n0 := pred (nonzero products)) in *. set (P0 := pow (pred D)). assert (1 <= P0) as P01 by apply pow_one.
        assert (pow n0 <= P0) as Pn by (apply pow_mono; unfold n0; lia). pose proof (pow_one n0) as Pn1.
        assert (count_of n0 + 1 <= count_of D) as Cn by (rewrite <- count_S; apply count_le; unfold n0; lia). pose proof (count_nonneg n0) as Cn0.
        assert (P0 * Pk == P1) as PP by (unfold P0, Pk, P1; rewrite <- pow_add; reflexivity).
        assert (Qabs (tot - sum_of products) <= (P0 - 1) * (Pk * m + 3 * (count_of D * H * eta)) + P0 * (count_of D * H * eta)) as X1.
        { eapply Qle_trans; [exact SE|]. pose proof (mass_nonneg products) as Mp.
          assert (mass products <= Pk * m + 3 * (count_of D * H * eta)) as T' by (clear - T CE; lra).
          assert (count_of n0 * eta <= count_of D * H * eta) as T2 by (assert (count_of n0 <= count_of D * H) as T0 by (clear - Cn D0 H1; nra); clear - T0 E1; set (w := count_of D * H) in *; clearbody w; nra).
          assert (0 <= count_of n0 * eta) as T3 by (clear - Cn0 E1; nra).
          apply Qplus_le_compat; [clear - T' Mp Pn Pn1|clear - T2 T3 Pn Pn1 DHE]; nra. }
        setoid_replace (tot - q) with ((tot - sum_of products) + (sum_of products - q)) by ring. eapply Qle_trans; [apply Qabs_triangle|].
        assert (P0 <= P1) as P0P1 by (rewrite <- PP; clear - P01 Pk1; nra).
        assert (P0 * (count_of D * H * eta) <= P1 * (count_of D * H * eta)) as Q1 by (clear - P0P1 DHE; nra).
        assert (P0 * Pk * m == P1 * m) as Q2 by (rewrite PP; reflexivity).
        unfold G. clear - X1 DD CE Q1 Q2. lra. }
    set (W := (P1 - 1) * m + G) in *. assert (0 <= W) as W0 by (unfold W; clear - P11 M0 G0; nra).
    assert (Qabs tot <= P1 * m + G) as St.
    { setoid_replace tot with (q + (tot - q)) by ring. eapply Qle_trans; [apply Qabs_triangle|]. unfold W in Dt. clear - Dt TM. lra. }
    set (V := (1 + y) * b + eta) in *. assert (0 <= V) as V0 by (unfold V; clear - Y0 B0 E1; nra).
    assert (Qabs (d * tot) <= V * (P1 * m + G)) as Sdt.
    { rewrite Qabs_Qmult. pose proof (Qabs_nonneg d). pose proof (Qabs_nonneg tot). clear - Sd St V0 H0 H2. nra. }
    assert (Qabs (d * tot) < limit) as Ldt.
    { eapply Qle_lt_trans; [exact Sdt|]. eapply Qle_lt_trans; [|exact R].
      assert (V <= 3 * C') as V3 by (unfold V; clear - KO Sc C1' E2 B0 Y0; nra).
      assert (P1 * m + G <= 10 * (count_of D * (H * C))) as M10.
      { assert (P1 * m <= 2 * (count_of D * (H * C))) by (clear - P12 P11 M' M0; nra).
        assert (G <= 8 * (count_of D * H * eta)) by (unfold G; clear - DHE P12; nra).
        assert (count_of D * H * eta <= count_of D * (H * C)) by (clear - D0 H1 C1 E1 E2; assert (0 <= count_of D * H) by nra; nra). clear - H0 H2 H3. lra. }
      assert (0 <= P1 * m + G) by (clear - P11 M0 G0; nra). set (w := P1 * m + G) in *. clearbody w.
      assert (V * w <= 30 * (count_of D * (H * C * C'))) as V30.
      { assert (V * w <= 3 * C' * (10 * (count_of D * (H * C)))) by (assert (0 <= 10 * (count_of D * (H * C))) by (clear - D0 HC; nra); clear - V3 V0 M10 H0 C1' H2; nra). clear - H2. lra. }
      clear - V30 D0 HCC. nra. }
    destruct (becomes_iff _ _ _ Ldt Bx) as [_ Dx]. change (count_of 1) with 1 in Dx. rewrite Qmult_1_l in Dx.
    split; [exact XZ|]. split; [exact M'|].
    assert (Qabs (d * tot - c * q) <= V * W + (y * b + eta) * m) as Dp.
    { setoid_replace (d * tot - c * q) with (d * (tot - q) + (d - c) * q) by ring. eapply Qle_trans; [apply Qabs_triangle|]. rewrite !Qabs_Qmult.
      pose proof (Qabs_nonneg d) as K1. pose proof (Qabs_nonneg (tot - q)) as K2. pose proof (Qabs_nonneg (d - c)) as K3. pose proof (Qabs_nonneg q) as K4.
      apply Qplus_le_compat; [clear - Sd Dt K1 K2 V0; nra|clear - Dd TM K3 K4; nra]. }
    setoid_replace (x - c * q) with ((x - d * tot) + (d * tot - c * q)) by ring. eapply Qle_trans; [apply Qabs_triangle|].
    assert (u * Qabs (d * tot) <= u * (V * (P1 * m + G))) as UD by (clear - U1 Sdt; nra).
    pose proof (pow_units ko) as PU. fold y in PU.
    set (PK := pow (D + (p + ki) + ko)) in *. assert (PK == P1 * ((1 + u) * pow ko)) as EK
      by (unfold PK, P1; replace (D + (p + ki) + ko)%nat with (pred D + (p + ki) + Datatypes.S ko)%nat by lia; rewrite pow_add; reflexivity).
    set (po := pow ko) in *. assert (1 <= po) as PO1 by apply pow_one.
    assert (1 <= PK) as PK1 by apply pow_one.
    assert (P1 * ((1 + u) * (1 + y)) <= PK) as K1 by (rewrite EK; clear - PU P11 U1; assert (0 <= P1 * (1 + u)) by nra; nra).
    assert (P1 * (1 + u) <= PK) as K2 by (rewrite EK; clear - PO1 P11 U1; assert (0 <= P1 * (1 + u)) by nra; nra).
    assert (0 <= b * m) as BM by (clear - B0 M0; nra).
    assert (P1 * ((1 + u) * (1 + y)) * (b * m) <= PK * (b * m)) as L1 by (clear - K1 BM; nra).
    set (Z0 := count_of D * (H * C * C') * eta) in *.
    assert (P1 * (1 + u) * (m * eta) <= PK * Z0) as L2.
    { assert (m * eta <= Z0) by (unfold Z0; clear - M' HCL D0 E1; assert (m <= count_of D * (H * C * C')) by nra; nra).
      assert (0 <= m * eta) by (clear - M0 E1; nra). clear - K2 H0 H2 PK1 P11 U1. nra. }
    assert (count_of D * H * eta * b <= Z0) as L3.
    { unfold Z0. setoid_replace (count_of D * (H * C * C') * eta) with (count_of D * H * eta * (C * C')) by ring.
      assert (b <= C * C') by (clear - Sc C1 C1'; nra). clear - DHE H0. nra. }
    assert (count_of D * H * eta * eta <= Z0) as L4.
    { unfold Z0. setoid_replace (count_of D * (H * C * C') * eta) with (count_of D * H * eta * (C * C')) by ring.
      assert (eta <= C * C') by (clear - E2 C1 C1'; nra). clear - DHE H0. nra. }
    assert (P1 * ((1 + u) * (1 + y)) * (count_of D * H * eta * b) <= PK * Z0) as L5.
    { assert (0 <= count_of D * H * eta * b) by (clear - DHE B0; nra). assert (0 <= P1 * ((1 + u) * (1 + y))) by (clear - P11 U1 Y0; assert (0 <= (1 + u) * (1 + y)) by nra; nra).
      clear - K1 L3 H0 H2 PK1. nra. }
    assert (P1 * (1 + u) * (count_of D * H * eta * eta) <= PK * Z0) as L6.
    { assert (0 <= count_of D * H * eta * eta) by (clear - DHE E1; nra). assert (0 <= P1 * (1 + u)) by (clear - P11 U1; nra). clear - K2 L4 H0 H2 PK1. nra. }
    assert (eta <= PK * (H * C * C' * eta)) as L7 by (assert (eta <= H * C * C' * eta) by (clear - HCC E1; nra); clear - H0 PK1 E1; nra).
    setoid_replace (PK * ((9 * count_of D + 1) * (H * C * C') * eta)) with (9 * (PK * Z0) + PK * (H * C * C' * eta)) by (unfold Z0; ring).
    unfold V, W, G in *. clear - Dx Dp UD L1 L2 L5 L6 L7. lra.
  Qed.
End Rounded.

(* One row of a layer as it runs, in integers: what `fits` and `relative` say of it is right. *)
From Coq Require Import ZArith QArith Qabs Qpower List Bool Lia Lqa Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Floats Roundings RoundedRow Deployed.
Import ListNotations.
Open Scope Q_scope.

Notation Int := inject_Z.

Lemma abs_inject z : Qabs (Int z) == Int (Z.abs z).
Proof. unfold Qabs, inject_Z. reflexivity. Qed.

Lemma greatest_in {B} (l : list B) least f b : In b l -> (f b <= greatest l least f)%Z.
Proof.
  intros I. induction l as [|c l IH]; [destruct I|]. change (greatest (c :: l) least f) with (Z.max (f c) (greatest l least f)). destruct I as [->|I]; [lia|specialize (IH I); lia].
Qed.

Lemma greatest_least {B} (l : list B) least f : (least <= greatest l least f)%Z.
Proof. induction l as [|c l IH]; [apply Z.le_refl|]. change (greatest (c :: l) least f) with (Z.max (f c) (greatest l least f)). lia. Qed.

Lemma forall2_left {B C} (R : B -> C -> Prop) l r b : Forall2 R l r -> In b l -> exists c, In c r /\ R b c.
Proof.
  induction 1 as [|x y l r X F IH]; intros I; [destruct I|]. destruct I as [->|I]; [exists y; split; [left; reflexivity|exact X]|]. destruct (IH I) as (c & Ic & Rc). exists c. split; [right; exact Ic|exact Rc].
Qed.

Lemma sum_forall2_eq {B C} (R : B -> C -> Prop) l r f g : Forall2 R l r -> (forall b c, In b l -> In c r -> R b c -> f b == g c) -> sum l f == sum r g.
Proof.
  induction 1 as [|b c l r X F IH]; intros H; [reflexivity|]. rewrite !sum_cons, (H b c (or_introl eq_refl) (or_introl eq_refl) X), IH; [reflexivity|].
  intros b' c' Ib Ic. apply H; right; assumption.
Qed.

Lemma sum_abs {B} (l : list B) f : Qabs (sum l f) <= sum l (fun b => Qabs (f b)).
Proof. induction l as [|b l IH]; [discriminate|]. rewrite !sum_cons. eapply Qle_trans; [apply Qabs_triangle|]. lra. Qed.

Lemma sum_inject {B} (l : list B) f : Int (zsum l f) == sum l (fun b => Int (f b)).
Proof. apply inject_zsum. Qed.

(* A quotient rounded down, and one more, is not below it. *)
Lemma above_quotient x d q : (0 < d)%Z -> q * Int d <= Int x -> q <= Int (x / d + 1).
Proof.
  intros D H. assert (Int x <= Int (d * (x / d + 1))) as L by (rewrite <- Zle_Qle; pose proof (Z.mul_succ_div_gt x d D); lia).
  rewrite inject_Z_mult in L. assert (0 < Int d) as D0 by (rewrite Zlt_Qlt in D; exact D). set (e := Int (x / d + 1)) in *. clearbody e.
  apply (Qmult_le_r _ _ (Int d) D0). rewrite (Qmult_comm e). eapply Qle_trans; [exact H|exact L].
Qed.

Definition seen_by (h : nat -> Z -> Z -> Q) (m : Z) (t : reader Z) (i : Z) : bool := existsb (fun e => negb (is_zero (h (read_layer t) (fst e) i))) (operator t m).

(* A term in integers; and the roundings of a list of terms do not depend on its order. *)
Definition scaled_step (a w : Q) (q : reader Q) (z : reader Z) : Prop :=
  scaled_term a w q z /\ read_layer q = read_layer z /\ read_units q = read_units z /\ (forall m, entry_error q m = entry_error z m) /\
  more_roundings q = more_roundings z /\ forall i j, Int (parts_size z i j) == w * parts_size q i j.

(* Numbers with their parts, in integers. *)
Lemma inject_max a b : Int (Z.max a b) == Qmax (Int a) (Int b).
Proof.
  destruct (Z.max_spec a b) as [[L ->]|[L ->]]; [rewrite Q.max_r|rewrite Q.max_l]; try reflexivity; rewrite <- Zle_Qle; lia.
Qed.

Lemma scaled_max c x y : 0 < c -> c * Qmax x y == Qmax (c * x) (c * y).
Proof.
  intros C. destruct (Q.max_spec x y) as [[L ->]|[L ->]]; [rewrite Q.max_r|rewrite Q.max_l]; try reflexivity; apply Qmult_le_l; try exact C; [apply Qlt_le_weak|]; exact L.
Qed.

Lemma scaled_parts c x p z q : 0 < c -> Int z == c * x -> Int q == c * p -> Int (with_its_parts z q) == c * with_parts x p.
Proof.
  intros C Z P. unfold with_its_parts, with_parts. rewrite inject_max, (scaled_max c _ _ C), <- abs_inject, Z, P, Qabs_Qmult, (Qabs_pos c) by (apply Qlt_le_weak; exact C). reflexivity.
Qed.

Lemma its_parts_le z q : (Z.abs z <= with_its_parts z q)%Z.
Proof. apply Z.le_max_l. Qed.
(* All that a term receives is 0 or 1. *)
Definition binary (x : Q) : bool := Qeq_bool x 0 || Qeq_bool x 1.
Definition receives_bits {number} (h : nat -> Z -> Z -> Q) (m : Z) (t : reader number) : bool :=
  forallb (fun e => forallb (fun i => binary (h (read_layer t) (fst e) i)) (ids (read_units t))) (operator t m).

Lemma list_max_perm l r : Permutation l r -> list_max l = list_max r.
Proof. unfold list_max. induction 1; cbn [fold_right]; lia. Qed.

Lemma perm_forall2 {B C} (R : B -> C -> Prop) l r l' : Forall2 R l r -> Permutation r l' -> exists r', Permutation l r' /\ Forall2 R r' l'.
Proof.
  intros F P. revert l F. induction P as [|c r r' P IH|c d r|r r' r'' P IH P' IH']; intros l F.
  - inversion F; subst. exists []. auto.
  - inversion F as [|b ? l0 ? X F']; subst. destruct (IH l0 F') as (r0 & P0 & F0). exists (b :: r0). split; [constructor; exact P0|constructor; assumption].
  - inversion F as [|b ? l0 ? X F']; subst. inversion F' as [|b' ? l1 ? X' F'']; subst. exists (b' :: b :: l1). split; [constructor|repeat constructor; assumption].
  - destruct (IH l F) as (r0 & P0 & F0). destruct (IH' r0 F0) as (r1 & P1 & F1). exists r1. split; [eapply Permutation_trans; eassumption|exact F1].
Qed.

(* What `received` has to be for computed inputs h and exact ones y. *)
Definition receives (l : stage Z) (s m width : Z) (h y : nat -> Z -> Z -> Q) (r : received) : Prop :=
  (exists ts, Permutation ts (steps l) /\
    Forall2 (fun t c => (Z.of_nat (length (filter (seen_by h m t) (ids (read_units t)))) <= inputs_seen c)%Z /\ row_length c = Z.of_nat (length (operator t m)) /\
      (Z.of_nat (entry_error t m) + Z.of_nat (more_roundings t) + (if receives_bits h m t then 0 else 1) <= roundings_read c)%Z) ts (counts r)) /\
  (2 ^ s <= largest r)%Z /\
  (forall t e i, In t (steps l) -> In e (operator t m) -> In i (ids (read_units t)) -> 2 ^ s * Qabs (h (read_layer t) (fst e) i) <= Int (largest r)) /\
  (forall j, In j (ids width) -> Int (bias_size l m j) +
    sum (steps l) (fun t => sum (operator t m) (fun e => Int (Z.abs (snd e)) * sum (ids (read_units t)) (fun i => 2 ^ s * Qabs (h (read_layer t) (fst e) i) * Int (weight_size t i j)))) <= Int (added r j)) /\
  (let wrong k := Qabs (sum (steps l) (fun t => sum (operator t m) (fun e => Int (snd e) *
      sum (ids (read_units t)) (fun i => 2 ^ s * (h (read_layer t) (fst e) i - y (read_layer t) (fst e) i) * Int (k t i))))) in
    (forall j, In j (ids width) -> wrong (fun t i => weight t i j) <= Int (inherited r j)) /\
    (forall j other, In j (ids width) -> In other (ids width) -> wrong (fun t i => weight t i j - weight t i other)%Z <= Int (between r j other))).

(* How numbers of a layer are read, and of which parts they consist. *)
Definition same_readings (c : Q) (q : stage Q) (l : stage Z) : Prop :=
  weight_error q = weight_error l /\ (forall m, bias_error q m = bias_error l m) /\ more_for_bias q = more_for_bias l /\
  forall m j, Int (bias_parts l m j) == c * bias_parts q m j.

Section Rounded.
  Variables (A : arithmetic) (r : received).
  Hypothesis PRECISION : (2 <= precision A)%Z.

  (* What is computed is not below the numbers that it stands for. *)
  Lemma relative_spec n magnitude : (0 <= n)%Z -> let x := Int n * u A in (x + x * x) * Int magnitude <= Int (relative A n magnitude).
  Proof.
    intros N x. unfold relative. apply above_quotient; [apply Z.pow_pos_nonneg; lia|].
    assert (Int (2 ^ (2 * precision A)) == Int (2 ^ precision A) * Int (2 ^ precision A)) as PP by (rewrite <- inject_Z_mult, <- Z.pow_add_r by lia; replace (2 * precision A)%Z with (precision A + precision A)%Z by lia; reflexivity).
    assert (~ Int (2 ^ precision A) == 0) as NZ.
    { intros C. assert (0 < Int (2 ^ precision A)) as PP' by (change 0 with (Int 0); rewrite <- Zlt_Qlt; apply Z.pow_pos_nonneg; lia). rewrite C in PP'. discriminate PP'. }
    rewrite PP, !inject_Z_mult, inject_Z_plus, !inject_Z_mult. apply Qle_lteq. right. unfold x, u. field. exact NZ.
  Qed.

  Lemma underflow_spec sc : 24 * (Int (cells_of r * sc) * eta A) <= Int (underflow A r sc).
  Proof.
    unfold underflow. apply above_quotient; [apply Z.pow_pos_nonneg; lia|].
    assert (~ Int (2 ^ precision A) == 0) as NZ.
    { intros C. assert (0 < Int (2 ^ precision A)) as PP' by (change 0 with (Int 0); rewrite <- Zlt_Qlt; apply Z.pow_pos_nonneg; lia). rewrite C in PP'. discriminate PP'. }
    rewrite Z.pow_add_r by lia. rewrite !inject_Z_mult. change (Int 24) with 24. apply Qle_lteq. right. unfold eta, u.
    assert (~ Int (2 ^ 126) == 0) as NZ' by (intros C; vm_compute in C; discriminate C). set (k := Int (2 ^ 126)) in *. clearbody k.
    destruct (flushes A); [|change (Int 1) with 1]; field; auto.
  Qed.
End Rounded.

Section Computed.
  Variables (A : arithmetic) (ql : stage Q) (l : stage Z) (a w s m width : Z) (h y : nat -> Z -> Z -> Q) (r : received).
  Hypothesis PRECISION : (2 <= precision A)%Z.
  Hypothesis SHIFTS : (0 <= a /\ 0 <= w /\ 0 <= s)%Z.
  Hypothesis TERMS : Forall2 (scaled_step (2 ^ a) (2 ^ w)) (steps ql) (steps l).
  Hypothesis BIAS : forall m j, Int (stage_bias l m j) == 2 ^ (s + a + w) * stage_bias ql m j.
  Hypothesis UNITS : same_readings (2 ^ (s + a + w)) ql l.
  Hypothesis RECEIVES : receives l s m width h y r.
  Let scale := scale_of l r (heaviest l width w) a m.
  Hypothesis FITS : fits A l r scale (s + a + w) width m = true.

  Let whole := 2 ^ (s + a + w).
  Let D (t : reader Q) : nat := length (filter (seen h m t) (ids (read_units t))).

  (* A row of exact sums of inputs x, in integers. *)
  Definition middle (x : nat -> Z -> Z -> Q) (j : Z) : Q := Int (stage_bias l m j) + sum (steps l) (fun t => sum (operator t m) (fun e => Int (snd e) *
    sum (ids (read_units t)) (fun i => 2 ^ s * x (read_layer t) (fst e) i * Int (weight t i j)))).

  Lemma middle_exact x j : whole * (stage_bias ql m j + sum (steps ql) (exact x m j)) == middle x j.
  Proof.
    assert (whole == 2 ^ s * 2 ^ a * 2 ^ w) as WH by (unfold whole; rewrite !two_power; reflexivity).
    unfold middle. rewrite Qmult_plus_distr_r. apply Qplus_comp; [symmetry; apply BIAS|]. rewrite <- sum_times. apply (sum_forall2_eq _ _ _ _ _ TERMS).
    intros tq t _ _ ([TO TW] & TL & TU & TE & TM & TP).
    unfold exact. rewrite <- sum_times. apply (sum_forall2_eq _ _ _ _ _ (TO m)). intros e e' _ _ [E2 E3]. rewrite E3, WH, TU, TL.
    transitivity (2 ^ a * snd e * (2 ^ s * 2 ^ w * sum (ids (read_units t)) (fun i => x (read_layer t) (fst e) i * weight tq i j))); [ring|]. apply Qmult_comp; [reflexivity|].
    rewrite <- sum_times. apply sum_eq. intros i _. rewrite TW, E2. ring.
  Qed.

  Lemma seen_same tq t i : scaled_step (2 ^ a) (2 ^ w) tq t -> seen h m tq i = seen_by h m t i.
  Proof.
    intros ([O _] & L & _). unfold seen, seen_by. rewrite L. specialize (O m). induction O as [|e f es fs [E _] O IH]; [reflexivity|]. cbn [existsb]. rewrite E, IH. reflexivity.
  Qed.

  Lemma bits_same tq t : scaled_step (2 ^ a) (2 ^ w) tq t -> receives_bits h m tq = receives_bits h m t.
  Proof.
    intros ([O _] & L & U & _). unfold receives_bits. rewrite L, U. specialize (O m). induction O as [|e f es fs [E _] O IH]; [reflexivity|]. cbn [forallb]. rewrite E, IH. reflexivity.
  Qed.

  Let bits := receives_bits (number := Q) h m.
  Lemma counts_of : exists tqs, Permutation (steps ql) tqs /\ Forall2 (fun tq c => (Z.of_nat (D tq) <= inputs_seen c)%Z /\ row_length c = Z.of_nat (row m tq) /\
    (Z.of_nat (entry_error tq m + product bits tq + more_roundings tq) <= roundings_read c)%Z) tqs (counts r).
  Proof.
    destruct RECEIVES as ((zs & PZ & C) & _). destruct (perm_forall2 _ _ _ _ TERMS (Permutation_sym PZ)) as (tqs & PT & TS). exists tqs. split; [exact PT|].
    unfold D. clear RECEIVES BIAS FITS PZ PT. revert C. generalize (counts r). induction TS as [|tq t tqs ts T TS IH]; intros cs C;
      inversion C as [|? c ? cs' (C1 & C2 & C3) C']; subst; constructor; auto.
    split; [|split].
    - erewrite filter_ext; [|intros i; apply seen_same; exact T]. destruct T as (_ & _ & -> & _). exact C1.
    - rewrite C2. unfold row. destruct T as ([O _] & _). specialize (O m). f_equal. symmetry. clear - O. induction O; cbn [length]; congruence.
    - unfold product, bits. rewrite (bits_same tq t T). destruct T as (_ & _ & _ & -> & -> & _). destruct (receives_bits h m t); lia.
  Qed.

  Lemma roundings_le : (Z.of_nat (roundings ql m D bits) <= roundings_of l m r)%Z.
  Proof.
    unfold roundings, roundings_of. destruct UNITS as (U1 & U2 & U3 & _). rewrite Nat2Z.inj_add, Nat2Z.inj_max, Nat2Z.inj_add, U2, U3.
    set (most := greatest (counts r) 0 _).
    assert (Z.of_nat (nsum (steps ql) (counted m D)) <= zsum (counts r) (fun c => Z.max (inputs_seen c) (row_length c)) /\
      Z.of_nat (inner ql m D bits) <= most)%Z; [|lia].
    unfold inner, most. destruct counts_of as (tqs & PT & C). rewrite (nsum_perm _ _ _ PT), (list_max_perm _ _ (Permutation_map _ PT)).
    clear TERMS PT most. induction C as [|t c ts cs (C1 & C2 & C3) C [IH1 IH2]]; [split; reflexivity|]. rewrite nsum_cons, zsum_cons. unfold counted at 1.
    cbn [map list_max fold_right].
    match goal with |- _ /\ (_ <= greatest (c :: cs) 0 ?f)%Z => change (greatest (c :: cs) 0 f) with (Z.max (f c) (greatest cs 0 f)) end.
    unfold list_max in IH2. cbv beta. split; [lia|]. rewrite Nat2Z.inj_max. apply Z.max_le_compat; [|exact IH2]. unfold inner_of. rewrite U1, C2.
    destruct (row m t) as [|k]; [destruct (Z.eqb_spec (Z.of_nat 0) 0); lia|]. destruct (Z.eqb_spec (Z.of_nat (S k)) 0); lia.
  Qed.

  Lemma cells_le : all_cells ql m D <= Int (cells_of r).
  Proof.
    unfold all_cells, cells_of, count_of. rewrite inject_Z_plus. change (Int 1) with 1. apply Qplus_le_compat; [|apply Qle_refl]. rewrite <- Zle_Qle.
    destruct counts_of as (tqs & PT & C). rewrite (nsum_perm _ _ _ PT).
    clear TERMS PT. induction C as [|t c ts cs (C1 & C2 & _) C IH]; [reflexivity|]. rewrite nsum_cons, zsum_cons. unfold cells at 1. rewrite Nat2Z.inj_add, Nat2Z.inj_mul, !Nat2Z.inj_add.
    assert (0 <= Z.of_nat (D t))%Z by lia. assert (0 <= row_length c)%Z by lia. nia.
  Qed.

  Theorem computed_row j z : In j (ids width) -> adds_up A h ql m j z ->
    let x := Int (roundings_of l m r) * u A in
    Qabs (whole * z - middle h j) <= (x + x * x) * Int (added r j) + 24 * (Int (cells_of r * scale) * eta A).
  Proof.
    intros Ij UP x. destruct RECEIVES as (_ & R2 & R3 & R4 & _). destruct SHIFTS as (A0 & W0 & S0).
    pose proof (u_small A PRECISION) as [U1 U2]. pose proof (eta_small A PRECISION) as [ET1 ET2].
    unfold fits in FITS. apply andb_prop in FITS as [F1 F2]. apply Z.leb_le in F1. apply Z.ltb_lt in F2.
    set (alpha := 2 ^ a) in *. set (omega := 2 ^ w) in *. set (beta := 2 ^ s) in *.
    assert (0 < alpha /\ 0 < omega /\ 0 < beta) as (PA & PW & PS) by (unfold alpha, omega, beta; split; [|split]; apply two_power_pos).
    assert (whole == beta * alpha * omega) as WH by (unfold whole, beta, alpha, omega; rewrite !two_power; reflexivity).
    set (ent := greatest (steps l) (2 ^ a) (fun t => greatest (operator t m) 0 (fun e => Z.abs (snd e)))).
    set (wei := heaviest l width w).
    assert (Int (2 ^ a) == alpha /\ Int (2 ^ w) == omega /\ Int (2 ^ s) == beta) as (IA & IW & IS) by (unfold alpha, omega, beta; rewrite !inject_two_power by assumption; repeat split; reflexivity).
    assert (alpha <= Int ent) as LE by (rewrite <- IA, <- Zle_Qle; apply greatest_least).
    assert (omega <= Int wei) as LW by (rewrite <- IW, <- Zle_Qle; apply greatest_least).
    assert (beta <= Int (largest r)) as LB by (rewrite <- IS, <- Zle_Qle; exact R2).
    set (H := Int (largest r) / beta). set (W := Int wei / omega). set (E := Int ent / alpha).
    assert (1 <= H) as H1 by (apply Qle_shift_div_l; [exact PS|rewrite Qmult_1_l; exact LB]).
    assert (1 <= W) as W1 by (apply Qle_shift_div_l; [exact PW|rewrite Qmult_1_l; exact LW]).
    assert (1 <= E) as E1 by (apply Qle_shift_div_l; [exact PA|rewrite Qmult_1_l; exact LE]).
    assert (whole * (H * W * E) == Int scale) as SC.
    { unfold scale, scale_of. fold ent wei. rewrite !inject_Z_mult, WH. unfold H, W, E. field. repeat split; intros C; [rewrite C in PA|rewrite C in PW|rewrite C in PS]; discriminate. }
    assert (0 < whole) as PWH by apply two_power_pos.
    set (bq := with_parts (stage_bias ql m j) (bias_parts ql m j)).
    assert (bias_size l m j <= greatest (ids width) 0 (fun j => bias_size l m j))%Z as GB by (apply (greatest_in (ids width) 0 (fun j => bias_size l m j) j Ij)).
    assert (whole * bq == Int (bias_size l m j)) as AB by (symmetry; apply scaled_parts; [exact PWH|apply BIAS|apply UNITS]).
    assert (Int (2 ^ (127 + (s + a + w))) == Int (2 ^ 127) * whole) as PR by (rewrite Z.pow_add_r by lia; rewrite inject_Z_mult; apply Qmult_comp; [reflexivity|]; unfold whole; apply inject_two_power; lia).
    pose proof cells_le as CL. set (cq := all_cells ql m D) in *.
    assert (1 <= H * W * E) as HWE by (assert (1 <= H * W) by (clear - H1 W1; nra); clear - H0 E1; nra).
    assert (128 * (cq * (H * W * E) + bq) < Int (2 ^ 127)) as RANGE.
    { apply (Qmult_lt_l _ _ whole PWH). rewrite (Qmult_comm whole (Int (2 ^ 127))), <- PR. eapply Qle_lt_trans; [|rewrite <- Zlt_Qlt; exact F2].
      rewrite inject_Z_mult, inject_Z_plus, inject_Z_mult. change (Int 128) with 128.
      assert (Int (bias_size l m j) <= Int (greatest (ids width) 0 (fun j => bias_size l m j))) as GB' by (rewrite <- Zle_Qle; exact GB).
      assert (0 <= Int scale) as SP by (rewrite <- SC; clear - PWH HWE; nra).
      assert (cq * Int scale <= Int (cells_of r) * Int scale) as CS by (clear - CL SP; nra).
      setoid_replace (whole * (128 * (cq * (H * W * E) + bq))) with (128 * (cq * (whole * (H * W * E)) + whole * bq)) by ring.
      rewrite SC, AB. fold scale. clear - GB' CS. lra. }
    assert (forall t e, In t (steps ql) -> In e (operator t m) -> exists t' e', In t' (steps l) /\ In e' (operator t' m) /\ fst e = fst e' /\ read_layer t = read_layer t' /\ read_units t = read_units t' /\ Int (snd e') == alpha * snd e) as FIND.
    { intros t e It Ie. destruct (forall2_left _ _ _ t TERMS It) as (t' & It' & [TO _] & TL & TU & _). destruct (forall2_left _ _ _ e (TO m) Ie) as (e' & Ie' & E2 & E3). exists t', e'. auto 8. }
    assert (count_of (roundings ql m D bits) <= Int (roundings_of l m r)) as RN by (unfold count_of; rewrite <- Zle_Qle; apply roundings_le).
    assert (x <= 1 # 2) as X2.
    { assert (0 < Int (2 ^ precision A)) as PP by (change 0 with (Int 0); rewrite <- Zlt_Qlt; apply Z.pow_pos_nonneg; lia). unfold x, u. apply Qle_shift_div_r; [exact PP|].
      rewrite Zle_Qle, inject_Z_mult in F1. change (Int 2) with 2 in F1. clear - F1. lra. }
    pose proof (count_nonneg (roundings ql m D bits)) as RN0.
    set (x' := count_of (roundings ql m D bits) * u A). assert (x' <= x /\ 0 <= x') as [XX X0] by (unfold x', x; clear - RN RN0 U1; split; nra).
    assert (forall t' e, In t' (steps ql) -> In e (operator t' m) -> Qabs (snd e) <= E) as OPS.
    { intros t e It Ie. destruct (FIND t e It Ie) as (t' & e' & It' & Ie' & _ & _ & _ & E3). unfold E. apply Qle_shift_div_l; [exact PA|].
      rewrite Qmult_comm, <- (Qabs_pos alpha) by (apply Qlt_le_weak; exact PA). rewrite <- Qabs_Qmult, <- E3, abs_inject, <- Zle_Qle. unfold ent.
      etransitivity; [|apply (greatest_in (steps l) (2 ^ a) _ t' It')]. apply (greatest_in (operator t' m) 0 (fun e => Z.abs (snd e)) e' Ie'). }
    assert (forall t' t i, scaled_step alpha omega t' t -> Int (weight_size t i j) == omega * with_parts (weight t' i j) (parts_size t' i j)) as SIZES.
    { intros t' t i ([_ TW] & _ & _ & _ & _ & TP). apply scaled_parts; [exact PW|apply TW|apply TP]. }
    assert (forall t i, In t (steps ql) -> In i (ids (read_units t)) -> with_parts (weight t i j) (parts_size t i j) <= W) as WTS.
    { intros t i It Ii. destruct (forall2_left _ _ _ t TERMS It) as (t' & It' & TS). unfold W. apply Qle_shift_div_l; [exact PW|].
      rewrite Qmult_comm, <- (SIZES t t' i TS), <- Zle_Qle. unfold wei, heaviest. destruct TS as (_ & _ & TU & _).
      etransitivity; [|apply (greatest_in (steps l) (2 ^ w) _ t' It')]. rewrite TU in Ii. etransitivity; [|apply (greatest_in (ids (read_units t')) 0 _ i Ii)].
      apply (greatest_in (ids width) 0 (fun j => weight_size t' i j) j Ij). }
    assert (forall t e i, In t (steps ql) -> In e (operator t m) -> In i (ids (read_units t)) -> Qabs (h (read_layer t) (fst e) i) <= H) as INS.
    { intros t e i It Ie Ii. destruct (FIND t e It Ie) as (t' & e' & It' & Ie' & E2 & TL & TU & _). unfold H. apply Qle_shift_div_l; [exact PS|].
      rewrite Qmult_comm, E2, TL. rewrite TU in Ii. apply (R3 t'); assumption. }
    assert (count_of (roundings ql m D bits) * u A <= 1 # 2) as FEW by (fold x'; lra).
    pose proof (sized_error A ql h m j H W E PRECISION (conj H1 (conj W1 E1)) INS WTS OPS FEW RANGE z UP) as RE.
    cbv zeta in RE. change (count_of (roundings ql m (live h m) (plainly h m)) * u A) with x' in RE. change (all_cells ql m (live h m)) with cq in RE. fold bq in RE.
    assert (whole * (sum (steps ql) (sized h m j) + bq) <= Int (added r j)) as SIZE.
    { eapply Qle_trans; [|apply (R4 j Ij)]. rewrite Qmult_plus_distr_r, AB, Qplus_comm. apply Qplus_le_compat; [apply Qle_refl|]. apply Qle_lteq. right.
      rewrite <- sum_times. apply (sum_forall2_eq _ _ _ _ _ TERMS). intros tq t _ _ TS. pose proof TS as ([TO TW] & TL & TU & _).
      unfold sized. rewrite <- sum_times. apply (sum_forall2_eq _ _ _ _ _ (TO m)). intros e e' _ _ [E2 E3]. fold alpha in E3.
      rewrite <- abs_inject, E3, Qabs_Qmult, (Qabs_pos alpha) by (apply Qlt_le_weak; exact PA). rewrite WH, TL, TU.
      transitivity (alpha * Qabs (snd e) * (beta * omega * sum (ids (read_units t)) (fun i => Qabs (h (read_layer t) (fst e) i) * with_parts (weight tq i j) (parts_size tq i j)))); [ring|].
      apply Qmult_comp; [reflexivity|]. rewrite <- sum_times. apply sum_eq. intros i _. rewrite (SIZES tq t i TS), E2. fold beta. ring. }
    rewrite <- middle_exact. setoid_replace (whole * z - whole * (stage_bias ql m j + sum (steps ql) (exact h m j))) with (whole * (z - (stage_bias ql m j + sum
      (steps ql) (exact h m j)))) by ring.
    rewrite Qabs_Qmult, (Qabs_pos whole) by (apply Qlt_le_weak; exact PWH).
    set (err := Qabs (z - _)) in *. set (mags := sum (steps ql) (sized h m j) + bq) in *.
    assert (0 <= mags) as M0.
    { unfold mags. pose proof (Qle_trans _ _ _ (Qabs_nonneg _) (with_parts_le (stage_bias ql m j) (bias_parts ql m j))) as J. fold bq in J.
      assert (0 <= sum (steps ql) (sized h m j)) as J'; [|clear - J J'; lra]. apply sum_nonneg. intros t _. apply sum_nonneg. intros e _.
      apply Qmult_le_0_compat; [apply Qabs_nonneg|]. apply sum_nonneg. intros i _. apply Qmult_le_0_compat; [apply Qabs_nonneg|].
      exact (Qle_trans _ _ _ (Qabs_nonneg _) (with_parts_le _ _)). }
    assert ((x' + x' * x') * mags <= (x + x * x) * mags) as GM by (clear - XX X0 M0; assert (x' + x' * x' <= x + x * x) by nra; nra).
    assert (cq * Int scale <= Int (cells_of r) * Int scale) as CS by (assert (0 <= Int scale) by (rewrite <- SC; clear - PWH HWE; nra); clear - CL H0; nra).
    assert (whole * err <= whole * ((x + x * x) * mags + 24 * (cq * (H * W * E) * eta A))) as WE by (clear - RE GM PWH; apply Qmult_le_l; [exact PWH|lra]).
    assert ((x + x * x) * (whole * mags) <= (x + x * x) * Int (added r j)) as GS by (clear - SIZE XX X0; assert (0 <= x + x * x) by nra; nra).
    rewrite inject_Z_mult.
    assert (24 * (cq * Int scale * eta A) <= 24 * (Int (cells_of r) * Int scale * eta A)) as GU by (clear - CS ET1; nra).
    assert (whole * (24 * (cq * (H * W * E) * eta A)) == 24 * (cq * Int scale * eta A)) as GW by (rewrite <- SC; ring).
    clear - WE GS GU GW. lra.
  Qed.
End Computed.

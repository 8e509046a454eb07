(* Exact arithmetic is an execution: what holds in every execution holds of the exact network. *)
From Coq Require Import ZArith QArith Qabs Qpower List Bool Lia Lqa Permutation.
From Verified Require Import Spec Roundings RoundedRow.
Import ListNotations.
Open Scope Q_scope.

Section Exact.
  Variable A : arithmetic.
  Lemma becomes_same units x y : x == y -> becomes A units x y.
  Proof.
    intros E _. split; [intros Z; rewrite <- E; exact Z|]. setoid_replace (y - x) with 0 by (rewrite E; ring). change (Qabs 0) with 0.
    assert (0 <= / inject_Z (2 ^ precision A)) as R.
    { apply Qinv_le_0_compat. change 0 with (inject_Z 0). rewrite <- Zle_Qle. apply Z.pow_nonneg. lia. }
    assert (0 <= inject_Z (Z.of_nat units)) as U' by (change 0 with (inject_Z 0); rewrite <- Zle_Qle; lia). pose proof (Qabs_nonneg x) as X.
    assert (0 <= / inject_Z (2 ^ 126)) as T by (vm_compute; discriminate). set (r := / inject_Z (2 ^ precision A)) in *. set (t := / inject_Z (2 ^ 126)) in *. clearbody r t.
    set (k := inject_Z (Z.of_nat units)) in *. clearbody k. assert (0 <= k * r) by nra. assert (0 <= (if flushes A then 1 else r) * t) by (destruct (flushes A); nra). nra.
  Qed.

  Lemma summed_some x L : exists v, v == sum_of (x :: L) /\ summed A (x :: L) v.
  Proof.
    revert x. induction L as [|y L IH]; intros x.
    - exists x. split; [unfold sum_of; cbn [fold_right]; ring|constructor].
    - destruct (IH y) as (v & E & S). exists (x + v). split; [rewrite total_cons, E; reflexivity|]. change (x :: y :: L) with ([x] ++ y :: L).
      apply (@two_sums A [x] (y :: L) x v); [constructor|exact S| | |apply becomes_same; reflexivity]; intros Z; rewrite Z; ring.
  Qed.

  Lemma summed_none_or_some L : exists v, v == sum_of L /\ summed A L v.
  Proof. destruct L as [|x L]; [exists 0; split; [reflexivity|constructor]|apply summed_some]. Qed.

  Lemma summed_any x y L z : z == sum_of (x :: y :: L) -> summed A (x :: y :: L) z.
  Proof.
    intros E. destruct (summed_some y L) as (v & Ev & S). rewrite total_cons, <- Ev in E. change (x :: y :: L) with ([x] ++ y :: L).
    apply (@two_sums A [x] (y :: L) x v); [constructor|exact S| | |apply becomes_same; symmetry; exact E]; intros Z; rewrite E, Z; ring.
  Qed.

  Lemma times_sum_exact inner outer pairs c x : x == c * sum_of (dot pairs) -> times_sum A inner outer pairs c x.
  Proof.
    intros E. destruct (summed_none_or_some (dot pairs)) as (v & Ev & S). exists (dot pairs), v, c. split; [|split; [exact S|split; apply becomes_same; [reflexivity|rewrite E, Ev; reflexivity]]].
    clear. induction pairs as [|p pairs IH]; [constructor|]. cbn [dot map]. constructor; [|exact IH]. exists (snd p).
    split; [|split]; [apply becomes_same; reflexivity..|]. intros O. rewrite O. ring.
  Qed.

  (* The values of a network that runs, without any error. *)
  Definition summed_exactly (M : nat -> rows) (l : stage Q) (m j : Z) : Q := stage_bias l m j + sum (steps l) (exact M m j).
  Definition exact_values (net : list (stage Q)) (X : rows) (M : nat -> rows) : Prop :=
    (forall n d, M O n d == X n d) /\ forall k l, nth_error net k = Some l -> forall m j, M (S k) m j == rectified (rectifies l j) (summed_exactly M l m j).

  Lemma folded_exactly M l m j : folded_sum A M l m j (summed_exactly M l m j).
  Proof.
    intros n H W E h r live entries additions all b size L1 L2 (H1 & W1 & E1) I1 I2 I3 FEW RANGE.
    match goal with |- Qabs ?d <= _ => assert (d == 0) as -> by exact (Qplus_opp_r (summed_exactly M l m j)) end. change (Qabs 0) with 0.
    assert (0 <= r) as R.
    { unfold r. apply Qinv_le_0_compat. change 0 with (inject_Z 0). rewrite <- Zle_Qle. apply Z.pow_nonneg. lia. }
    assert (1 <= (1 + r) ^ Z.of_nat n) as P.
    { clear - R. induction n as [|n IH]; [discriminate|]. rewrite Nat2Z.inj_succ. unfold Z.succ. rewrite Qpower_plus by (intros C; clear - C R; lra).
      change ((1 + r) ^ 1) with (1 + r). set (q := (1 + r) ^ Z.of_nat n) in *. clearbody q. clear - IH R. nra. }
    assert (forall x p, 0 <= with_parts x p) as S by (intros x p; exact (Qle_trans _ _ _ (Qabs_nonneg x) (with_parts_le x p))).
    match goal with |- 0 <= _ * (?m + b) + _ => assert (0 <= m + b) as M0 end.
    { apply (Qle_trans _ (0 + 0)); [discriminate|]. apply Qplus_le_compat; [|apply S]. apply sum_nonneg. intros t _. apply sum_nonneg. intros e _.
      apply Qmult_le_0_compat; [apply Qabs_nonneg|]. apply sum_nonneg. intros i _. apply Qmult_le_0_compat; [apply Qabs_nonneg|apply S]. }
    assert (0 <= all) as A0.
    { unfold all. apply Qmult_le_0_compat.
      - apply (Qle_trans _ (0 + 0)); [discriminate|]. apply Qplus_le_compat; [|discriminate]. change 0 with (inject_Z 0). rewrite <- Zle_Qle. lia.
      - apply Qmult_le_0_compat; [apply Qmult_le_0_compat|]; eapply Qle_trans; [|exact H1| |exact W1| |exact E1]; discriminate. }
    assert (0 <= (if flushes A then 1 else r) * / inject_Z (2 ^ 126)) as T by (apply Qmult_le_0_compat; [destruct (flushes A); [discriminate|exact R]|vm_compute; discriminate]).
    set (p := (1 + r) ^ Z.of_nat n) in *. set (eta := (if flushes A then 1 else r) * / inject_Z (2 ^ 126)) in *.
    match goal with |- 0 <= _ * ?m + _ => set (mass := m) in * end. clearbody p eta mass all. clear - P M0 A0 T. assert (0 <= all * eta) by nra. nra.
  Qed.

  Theorem exact_execution net X M : exact_values net X M -> execution A net X M.
  Proof.
    intros [R V]. split; [intros n d; destruct (reads_exactly A); [apply R|apply becomes_same; symmetry; apply R]|]. intros k l N m j. specialize (V k l N m j).
    exists (summed_exactly M l m j). split; [exact V|]. destruct (is_folded l); [apply folded_exactly|].
    set (parts := fun t : reader Q => map (fun e => snd e * sum (ids (read_units t)) (fun i => M (read_layer t) (fst e) i * weight t i j)) (operator t m)).
    assert (summed_exactly M l m j == stage_bias l m j + sum_of (concat (map parts (steps l)))) as E.
    { unfold summed_exactly. apply Qplus_comp; [reflexivity|]. clear. induction (steps l) as [|t ts IHt]; [reflexivity|]. cbn [map concat]. rewrite sum_cons, total_app, IHt.
      apply Qplus_comp; [|reflexivity]. unfold parts, exact. rewrite total_map. reflexivity. }
    exists (map (fun t => [t]) (steps l)), (map parts (steps l)).
    assert (concat (map (fun t : reader Q => [t]) (steps l)) = steps l) as C by (clear; induction (steps l) as [|t ts IHt]; [reflexivity|]; cbn [map concat app]; rewrite IHt; reflexivity).
    assert (Forall2 (adds A (weight_error l) M m j) (map (fun t => [t]) (steps l)) (map parts (steps l))) as F.
    { clear. induction (steps l) as [|t ts IHt]; cbn [map]; constructor; [|exact IHt]. exists t, []. split; [reflexivity|]. split; [intros s []|]. left.
      unfold parts. induction (operator t m) as [|e es IHe]; cbn [map]; constructor; [|exact IHe]. apply times_sum_exact.
      apply Qmult_comp; [reflexivity|]. cbn [flat_map]. rewrite app_nil_r. unfold dot. rewrite map_map. cbn [fst snd]. rewrite total_map. reflexivity. }
    destruct (concat (map parts (steps l))) as [|v vs] eqn:EV.
    - exists (summed_exactly M l m j). rewrite C. split; [reflexivity|].
      split; [apply becomes_same; rewrite E; unfold sum_of; cbn [fold_right]; ring|]. split; [exact F|]. constructor.
    - exists (stage_bias l m j). rewrite C. split; [reflexivity|]. split; [apply becomes_same; reflexivity|]. split; [exact F|].
      apply summed_any. rewrite E. reflexivity.
  Qed.

  (* There are such values where layers read earlier ones. *)
  Fixpoint from_layer (net : list (stage Q)) (k : nat) (M : nat -> rows) : nat -> rows :=
    match net with
    | [] => M
    | l :: rest => from_layer rest (S k) (fun i => if Nat.eqb i (S k) then (fun m j => rectified (rectifies l j) (summed_exactly M l m j)) else M i)
    end.

  Lemma from_layer_keeps net : forall k M i, (i <= k)%nat -> from_layer net k M i = M i.
  Proof.
    induction net as [|l rest IH]; intros k M i L; [reflexivity|]. cbn [from_layer]. rewrite IH by lia. destruct (Nat.eqb_spec i (S k)); [lia|reflexivity].
  Qed.

  Lemma rectified_same active x y : x == y -> rectified active x == rectified active y.
  Proof.
    intros E. unfold rectified. destruct active; [|exact E]. assert (Qle_bool 0 x = Qle_bool 0 y) as -> by (rewrite E; reflexivity).
    destruct (Qle_bool 0 y); [exact E|reflexivity].
  Qed.

  Lemma from_layer_values net : forall k M, (forall i l, nth_error net i = Some l -> forall t, In t (steps l) -> (read_layer t <= k + i)%nat) ->
    forall i l, nth_error net i = Some l -> forall m j,
      from_layer net k M (S (k + i)) m j == rectified (rectifies l j) (summed_exactly (from_layer net k M) l m j).
  Proof.
    induction net as [|l0 rest IH]; intros k M W i l N m j; [destruct i; discriminate|]. destruct i as [|i].
    - injection N as ->. rewrite Nat.add_0_r. cbn [from_layer]. rewrite from_layer_keeps by lia. rewrite Nat.eqb_refl.
      assert (summed_exactly M l m j == summed_exactly (from_layer rest (S k) (fun i => if Nat.eqb i (S k) then (fun m j => rectified (rectifies l j) (summed_exactly M l m j)) else M i)) l m j) as SE.
      { unfold summed_exactly. apply Qplus_comp; [reflexivity|]. apply sum_eq. intros t It. unfold exact. rewrite from_layer_keeps by (specialize (W 0%nat l eq_refl t It); lia).
        destruct (Nat.eqb_spec (read_layer t) (S k)) as [E|]; [specialize (W 0%nat l eq_refl t It); lia|reflexivity]. }
      apply rectified_same. exact SE.
    - cbn [from_layer]. replace (S (k + S i)) with (S (S k + i)) by lia. apply IH; [|exact N]. intros i' l' N' t It. specialize (W (S i') l' N' t It). lia.
  Qed.

  Theorem exact_values_exist net X : (forall i l, nth_error net i = Some l -> forall t, In t (steps l) -> (read_layer t <= i)%nat) -> exists M, exact_values net X M.
  Proof.
    intros W. exists (from_layer net 0 (fun _ => X)). split; [intros n d; rewrite from_layer_keeps by lia; reflexivity|].
    intros k l N m j. exact (from_layer_values net 0 (fun _ => X) W k l N m j).
  Qed.

  Theorem robust_run_robust net made classes t y : robust_run A net made classes t y ->
    forall X M, made X -> exact_values net X M -> forall other, (0 <= other < classes)%Z -> other <> y -> M (length net) t other < M (length net) t y.
  Proof. intros R X M MX V other Ho D. exact (R X M MX (exact_execution net X M V) other Ho D). Qed.

  Theorem broken_run_broken net made classes t y : broken_run A net made classes t y ->
    exists X other, made X /\ (0 <= other < classes)%Z /\ other <> y /\ forall M, exact_values net X M -> M (length net) t y < M (length net) t other.
  Proof. intros (X & other & MX & Ho & D & B). exists X, other. split; [exact MX|]. split; [exact Ho|]. split; [exact D|]. intros M V. exact (B M (exact_execution net X M V)). Qed.
End Exact.

Definition exact_run := (exact_execution, exact_values_exist).
Print Assumptions exact_run.

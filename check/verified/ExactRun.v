(* Exact arithmetic is an execution: what holds in every execution holds of the exact network. *)
From Coq Require Import ZArith QArith Qabs List Bool Lia Lqa Permutation.
From Verified Require Import Spec Roundings RoundedRow.
Import ListNotations.
Open Scope Q_scope.

Section Exact.
  Variable A : arithmetic.
  Hypothesis ENTRIES : (0 <= entry_error A)%Z.

  Lemma becomes_same units x y : (0 <= units)%Z -> x == y -> becomes A units x y.
  Proof.
    intros U E _. split; [intros Z; rewrite <- E; exact Z|]. setoid_replace (y - x) with 0 by (rewrite E; ring). change (Qabs 0) with 0.
    assert (0 <= / inject_Z (2 ^ precision A)) as R.
    { apply Qinv_le_0_compat. change 0 with (inject_Z 0). rewrite <- Zle_Qle. apply Z.pow_nonneg. lia. }
    assert (0 <= inject_Z units) as U' by (change 0 with (inject_Z 0); rewrite <- Zle_Qle; exact U). pose proof (Qabs_nonneg x) as X.
    assert (0 <= / inject_Z (2 ^ 126)) as T by (vm_compute; discriminate). set (r := / inject_Z (2 ^ precision A)) in *. set (t := / inject_Z (2 ^ 126)) in *. clearbody r t.
    assert (0 <= inject_Z units * r) by nra. assert (0 <= (if flushes A then 1 else r) * t) by (destruct (flushes A); nra). nra.
  Qed.

  Lemma summed_some x L : exists v, v == sum_of (x :: L) /\ summed A (x :: L) v.
  Proof.
    revert x. induction L as [|y L IH]; intros x.
    - exists x. split; [unfold sum_of; cbn [fold_right]; ring|constructor].
    - destruct (IH y) as (v & E & S). exists (x + v). split; [rewrite total_cons, E; reflexivity|]. change (x :: y :: L) with ([x] ++ y :: L).
      apply (two_sums A [x] (y :: L) x v); [constructor|exact S| | |apply becomes_same; [lia|reflexivity]]; intros Z; rewrite Z; ring.
  Qed.

  Lemma summed_none_or_some L : exists v, v == sum_of L /\ summed A L v.
  Proof. destruct L as [|x L]; [exists 0; split; [reflexivity|constructor]|apply summed_some]. Qed.

  Lemma summed_any x y L z : z == sum_of (x :: y :: L) -> summed A (x :: y :: L) z.
  Proof.
    intros E. destruct (summed_some y L) as (v & Ev & S). rewrite total_cons, <- Ev in E. change (x :: y :: L) with ([x] ++ y :: L).
    apply (two_sums A [x] (y :: L) x v); [constructor|exact S| | |apply becomes_same; [lia|symmetry; exact E]]; intros Z; rewrite E, Z; ring.
  Qed.

  Lemma times_sum_exact inner outer pairs c x : (0 <= inner)%Z -> (0 <= outer)%Z -> x == c * sum_of (dot pairs) -> times_sum A inner outer pairs c x.
  Proof.
    intros I O E. destruct (summed_none_or_some (dot pairs)) as (v & Ev & S). exists (dot pairs), v, c. split; [|split; [exact S|split; apply becomes_same; try lia; [reflexivity|rewrite E, Ev; reflexivity]]].
    clear - I. induction pairs as [|p pairs IH]; [constructor|]. cbn [dot map]. constructor; [|exact IH]. exists (snd p). split; apply becomes_same; try lia; reflexivity.
  Qed.

  Theorem exact_execution net X : execution A net X (preactivation net X).
  Proof.
    induction net as [|l below IH]; cbn [execution]; [intros n d; destruct (reads_exactly A); [|apply becomes_same; [lia|]]; reflexivity|]. exists (preactivation below X). split; [exact IH|]. intros m j.
    set (h := fun n i => passed_on below i (preactivation below X n i)).
    set (parts := fun t => map (fun e => snd e * sum (ids (inputs l)) (fun i => h (fst e) i * weight t i j)) (operator t m)).
    assert (preactivation (l :: below) X m j == bias l m j + sum_of (concat (map parts (terms l)))) as E.
    { cbn [preactivation]. apply Qplus_comp; [reflexivity|]. fold h. induction (terms l) as [|t ts IHt]; [reflexivity|]. cbn [map concat]. rewrite sum_cons, total_app, IHt.
      apply Qplus_comp; [|reflexivity]. unfold parts. rewrite total_map. reflexivity. }
    exists (map (fun t => [t]) (terms l)), (map parts (terms l)).
    assert (concat (map (fun t : term Q => [t]) (terms l)) = terms l) as C by (clear; induction (terms l) as [|t ts IHt]; [reflexivity|]; cbn [map concat app]; rewrite IHt; reflexivity).
    assert (Forall2 (adds A l h m j) (map (fun t => [t]) (terms l)) (map parts (terms l))) as F.
    { clear - ENTRIES. induction (terms l) as [|t ts IHt]; cbn [map]; constructor; [|exact IHt]. exists t, []. split; [reflexivity|]. split; [intros s []|]. left.
      unfold parts. induction (operator t m) as [|e es IHe]; cbn [map]; constructor; [|exact IHe]. apply times_sum_exact; [lia|exact ENTRIES|].
      apply Qmult_comp; [reflexivity|]. cbn [flat_map]. rewrite app_nil_r. unfold dot. rewrite map_map. cbn [fst snd]. rewrite total_map. reflexivity. }
    destruct (concat (map parts (terms l))) as [|v vs] eqn:EV.
    - exists (preactivation (l :: below) X m j). rewrite C. split; [reflexivity|]. split; [apply becomes_same; [lia|rewrite E; unfold sum_of; cbn [fold_right]; ring]|]. split; [exact F|]. constructor.
    - exists (bias l m j). rewrite C. split; [reflexivity|]. split; [apply becomes_same; [lia|reflexivity]|]. split; [exact F|]. apply summed_any. rewrite E. reflexivity.
  Qed.

  Theorem robust_run_robust net made classes t y : robust_run A net made classes t y -> robust net made classes t y.
  Proof. intros R X M other Ho D. exact (R X (preactivation net X) M (exact_execution net X) other Ho D). Qed.

  Theorem broken_run_broken net made classes t y : broken_run A net made classes t y -> broken net made classes t y.
  Proof. intros (X & other & M & Ho & D & B). exists X, other. split; [exact M|]. split; [exact Ho|]. split; [exact D|]. exact (B _ (exact_execution net X)). Qed.
End Exact.

Print Assumptions exact_execution.

(* What is said of changed edges is true of the network of floats. *)
From Coq Require Import ZArith QArith List Bool Lia.
From Verified Require Import Spec Sums Integers Trees Floats Edges EdgesBound EdgesSound EdgesBoundSound.
Import ListNotations.
Open Scope Z_scope.

(* What the program says of integers that are those of floats, of a network on every graph and of rows, is true of the network and the rows of these
   floats. *)
Theorem verified_edges (base s : Z) (bits z : list (ruled Z)) (E : edge_problem) (read V : Z -> Z -> Z) (classes : Z) (r : edges_ready)
    (by_prediction : bool) (t y : Z) (c : edge_claim) :
  (forall g, integers_of base s (on_graph bits g) (on_graph z g)) ->
  (forall n d, to_integer base (read n d) = Some (V n d)) ->
  prepare_changes z classes E V = Some r ->
  let net g := rational (on_graph bits g) in
  let X : rows := fun n d => float_value (read n d) in
  match judge_changes r by_prediction t y c with
  | Said IsRobust => robust_on net E (eq X) classes t y
  | Said IsBroken => broken_on net E (eq X) classes t y /\ (by_prediction = true -> predicted (net (graph_of E)) X classes t y)
  | Said IsTied => tied_on net E (eq X) classes t y /\ (by_prediction = true -> predicted (net (graph_of E)) X classes t y)
  | _ => True
  end.
Proof.
  intros I R HP net X. assert (forall n d, (inject_Z (V n d) == 2 ^ base * X n d)%Q) as READ by (intros n d; apply to_integer_spec, R).
  assert (forall g m i j, zvalue (on_graph z g) V m i < zvalue (on_graph z g) V m j <-> (preactivation (net g) X m i < preactivation (net g) X m j)%Q) as LESS.
  { intros g m i j. destruct (integers_scaled base s _ _ (I g)) as (k & _ & S). exact (scaled_less _ k _ _ V X (two_power_pos base) READ m i j S). }
  assert (forall g m i j, zvalue (on_graph z g) V m i = zvalue (on_graph z g) V m j -> (preactivation (net g) X m i == preactivation (net g) X m j)%Q) as EQUAL.
  { intros g m i j. destruct (integers_scaled base s _ _ (I g)) as (k & _ & S). exact (scaled_equal _ k _ _ V X (two_power_pos base) READ m i j S). }
  pose proof (judge_edges_sound z classes E V (prepared_edges r) (ready_prepared z classes E V r HP) (critical r) (critical_sound z classes E V r HP) by_prediction t y c) as J. cbn zeta in J.
  assert ((0 <= y < classes /\ forall other, 0 <= other < classes -> other <> y ->
      zvalue (on_graph z (graph_of E)) V t other < zvalue (on_graph z (graph_of E)) V t y \/
      (zvalue (on_graph z (graph_of E)) V t other = zvalue (on_graph z (graph_of E)) V t y /\ y < other)) -> predicted (net (graph_of E)) X classes t y) as PR.
  { intros [Hy H]. split; [exact Hy|]. intros other Ho D. destruct (H other Ho D) as [L|[Q L]]; [left; apply LESS; exact L|right]. split; [apply EQUAL; exact Q|exact L]. }
  unfold judge_changes. destruct (judge_edges (critical r) (prepared_edges r) by_prediction t y c) as [[| |]| |]; try exact Logic.I.
  - intros C A X' <- other Ho D. apply LESS. apply J; assumption.
  - destruct J as [(C & other & A & Ho & D & L) P]. split; [|auto]. exists C. split; [exact A|]. exists X, other. repeat split; try assumption; try lia. apply LESS. exact L.
  - destruct J as [(C & other & A & Ho & D & L) P]. split; [|auto]. exists C. split; [exact A|]. exists X, other. repeat split; try assumption; try lia. apply EQUAL. exact L.
Qed.

Print Assumptions verified_edges.

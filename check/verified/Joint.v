(* Flips and changed edges by one attacker: definitions only. Sets of changes are listed as where edges alone are changed, and on the graph after each of them trees over flips show that
   the class is kept. *)
From Coq Require Import ZArith List Bool.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Sound Edges.
Import ListNotations.
Open Scope Z_scope.

(* Most of what leaves over flips need of the first layer does not depend on edges, and is computed once: columns of weights, weights of attributes, and these rounded. *)
Definition term_on (g : graph) (p : rule Z * (Z -> Z -> Z)) : term Z := {| operator := by_rule (fst p) g; weight := snd p |}.
Definition no_edges : graph := fun _ => [].
Definition columns_once (size : Z) (l : ruled Z) : list (Z * ((rule Z * (Z -> Z -> Z)) * table (option column))) :=
  map (fun e => (fst e, (snd e, tabulate (column_of (term_on no_edges (snd e)) size)))) (combine (ids (Z.of_nat (length (ruled_terms l)))) (ruled_terms l)).
Definition ready_on (g : graph) (columns : list (Z * ((rule Z * (Z -> Z -> Z)) * table (option column)))) : list ready :=
  map (fun e => {| number := fst e; source := term_on g (fst (snd e)); columns := snd (snd e) |}) columns.

Record joint_prepared := {
  changing : edges_prepared; flipping : problem; lowest_layer : ruled Z; lowest_width : Z;
  columns_known : list (Z * ((rule Z * (Z -> Z -> Z)) * table (option column))); weights_known : list (Z * (list (list Z) * Z)); fixed_known : fixed }.
Definition prepare_joint (net : list (ruled Z)) (classes : Z) (E : edge_problem) (P : problem) : option joint_prepared :=
  match lowest net classes, prepare_edges net classes E (entries (attributes P)) with
  | Some (l, width), Some p =>
      if Z.eqb (ruled_inputs l) (count P) then
        let first := layer_on no_edges l in
        let rows := attribute_rows (count P) width first in
        Some {| changing := p; flipping := P; lowest_layer := l; lowest_width := width; columns_known := columns_once (count P) l;
                weights_known := rows; fixed_known := fixed_of first width (grain_for rows) [] |}
      else None
  | _, _ => None
  end.

(* What trees over flips show of one graph: lines of bounds first, then what margins are times, and trees. *)
Record flip_proof := { first_lines : list bounds_line; times_all : Z; flip_trees : list (Z * splits) }.

Section Judge.
  Variable j : joint_prepared.

  Definition prepared_on (g : graph) : prepared :=
    let p := changing j in
    let net := on_graph (edge_net p) g in
    let first := layer_on g (lowest_layer j) in
    let width := lowest_width j in
    let made := ready_on g (columns_known j) in
    let base := {| joined := tabulate (links made); grained := grained (fixed_known j); roughly := roughly (fixed_known j) |} in
    let view P sent := plain_view net (edge_classes p) first width made (weights_known j) P sent (layer2_of P first width base sent) in
    {| of_net := net; classes := edge_classes p; attribute_count := count (flipping j); rivals := no_rivals;
       view_of := fun P => view P (sent_on g (sent_first (lowest_layer j) width (entries (attributes P))));
       root := view (flipping j) (sent_on g (sent_once p)) |}.

  Definition flips_keep (t y : Z) (f : flip_proof) (others : list Z) (g : graph) : bool :=
    let p := prepared_on g in
    match all_lines p no_bounds (first_lines f) with
    | Some whole =>
        Z.ltb 0 (times_all f) &&
        forallb (fun other =>
          match List.find (fun e => Z.eqb (fst e) other) (flip_trees f) with
          | Some e => tree_holds p (flipping j) (root p) [] no_signs whole (margin p t y other (times_all f)) (snd e)
          | None => false
          end) others
    | None => false
    end.

  (* A leaf over edges has proofs about the graph after some sets of changes. Of a set the first counts that is about changes which the set has. *)
  Definition listed_proofs := list (list edge * flip_proof).
  Definition keeps_by (t y : Z) (s : listed_proofs) (others : list Z) (made : list edge) (g : graph) : bool :=
    match List.find (fun e => forallb (fun c => among c made) (fst e)) s with
    | Some e => flips_keep t y (snd e) others g
    | None => false
    end.

  Inductive joint_claim := KeepsJointly (work : Z) (trees : list (list Z * edge_tree listed_proofs)) | LosesJointly (other : Z) (C : list edge) (F : list flip).

  Definition judge_joint (by_prediction : bool) (t y : Z) (c : joint_claim) : edge_answer :=
    let p := changing j in
    match c with
    | KeepsJointly work trees =>
        if covers (edge_classes p) y trees then
          match list_trees p t (keeps_by t y) (fun _ _ _ _ => None) work trees with AllKeep _ => Said IsRobust | OneLoses => NotShown | TooMany => TooMuchWork end
        else NotShown
    | LosesJointly other C F =>
        if is_admissible_changes (edges_of p) C && is_admissible (flipping j) F && negb (Z.eqb other y) &&
           (negb by_prediction || is_predicted (prepared_on (graph_of (edges_of p))) t y)
        then
          let l := logits (prepared_on (graph_after p C)) t F in
          match logit_of l y, logit_of l other with
          | Some a, Some b => if Z.ltb a b then Said IsBroken else if Z.eqb a b then Said IsTied else NotShown
          | _, _ => NotShown
          end
        else NotShown
    end.
End Judge.

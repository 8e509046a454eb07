(* Changed edges: what removals can do to a number, carried from layer to layer; definitions only. A number on the graph of a path is carried with
   what it changes by at least and at most, as sums over the open removals that a set has. *)
From Coq Require Import ZArith List Bool.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Collective Edges.
Import ListNotations.
Open Scope Z_scope.

Record carried := { start : Z; least : list Z; most : list Z }.
Definition constant (x : Z) : carried := {| start := x; least := []; most := [] |}.
Definition plus (c d : carried) : carried := {| start := start c + start d; least := vadd (least c) (least d); most := vadd (most c) (most d) |}.
Definition times (a : Z) (c : carried) : carried :=
  if Z.leb 0 a then {| start := a * start c; least := vscale a (least c); most := vscale a (most c) |}
  else {| start := a * start c; least := vscale a (most c); most := vscale a (least c) |}.
Definition total_of {A} (l : list A) (f : A -> carried) : carried := fold_right (fun a rest => plus (f a) rest) (constant 0) l.
Definition vsum {A} (l : list A) (f : A -> list Z) : list Z := fold_right (fun a rest => vadd (f a) rest) [] l.

Definition minimum {A} (l : list A) (f : A -> Z) : Z :=
  match l with [] => 0 | a :: rest => fold_right (fun b m => Z.min (f b) m) (f a) rest end.
(* The least that d times a number in an interval is. *)
Definition low_product (d : Z) (range : Z * Z) : Z := if Z.leb 0 d then d * fst range else d * snd range.
Definition up_to (k : Z) : list Z := map (Z.add 1) (ids k).

Section Carried.
  Variables (E : edge_problem) (g : graph) (F : list edge) (budget : Z) (room : Z -> Z).

  Definition range_of (c : carried) : Z * Z := (start c - largest budget (vscale (-1) (least c)), start c + largest budget (most c)).
  Definition activated (c : carried) : carried :=
    let (low, high) := range_of c in
    if Z.leb 0 low then c
    else if Z.leb high 0 then constant 0
    else if Z.leb 0 (start c) then
      {| start := start c; least := map (fun x => Z.max (Z.min x 0) (- start c)) (least c); most := map pos (most c) |}
    else {| start := 0; least := []; most := map (fun x => - (- (pos x * high) / (high - start c))) (most c) |}.

  (* Removals of entries of rows. *)
  Definition has_arc (f : edge) (u v : Z) : bool := same (u, v) f || (negb (directed E) && same (v, u) f).
  Definition arc_vector (u v : Z) : list Z := map (fun f => bit (has_arc f u v)) F.
  Definition row_vector (v : Z) : list Z := vsum (g v) (fun u => arc_vector u v).
  Definition capacity (v : Z) : Z := Z.max 0 (Z.min (room v) (Z.of_nat (length (filter (fun u => existsb (fun f => has_arc f u v) F) (g v))))).

  (* What is known of rows, computed once. *)
  Record row_table := { arcs_into : table (list (Z * list Z)); cuts_of : table (list Z); capacities : table Z }.
  Definition rows_known : row_table :=
    {| arcs_into := tabulate (fun v => map (fun u => (u, arc_vector u v)) (g v)); cuts_of := tabulate row_vector; capacities := tabulate capacity |}.
  Variable known : row_table.

  (* One term of a node's unit: messages with entries by sizes, and what removed entries and changed sizes do at least, of messages in some ranges. *)
  Section Term.
    Variables (itself : Z -> bool) (entry : Z -> Z -> Z) (by_senders : bool) (v : Z).
    Let n := Spec.size_of itself g v.
    Definition shrinks (u : Z) : list Z := if by_senders then ids (get (capacities known) u + 1) else [0].
    Definition spread (range : Z -> Z * Z) (r : Z) : Z :=
      zsum (received itself g v) (fun u => let s := Spec.size_of itself g u in
        minimum (shrinks u) (fun q => low_product (entry (n - r) (s - q) - entry n (s - q)) (range u))).
    Definition charge (range : Z -> Z * Z) (shares : list (Z * Z)) (u : Z) : Z :=
      let s := Spec.size_of itself g u in
      minimum shares (fun p => minimum (shrinks u) (fun q => low_product (- entry (n - fst p) (s - q)) (range u)) + snd p).
    Definition sender_charge (range : Z -> Z * Z) (u : Z) : Z :=
      let s := Spec.size_of itself g u in
      minimum (up_to (get (capacities known) u)) (fun q => low_product (entry n (s - q) - entry n s) (range u) / q).
    Definition charges (range : Z -> Z * Z) : list Z :=
      let shares := map (fun r => (r, spread range r / r)) (up_to (get (capacities known) v)) in
      vadd (vsum (get (arcs_into known) v) (fun e => vscale (charge range shares (fst e)) (snd e)))
        (if by_senders then vsum (received itself g v) (fun u => vscale (sender_charge range u) (get (cuts_of known) u)) else []).
    Definition term_of (message : Z -> carried) : carried :=
      let base := total_of (received itself g v) (fun u => times (entry n (Spec.size_of itself g u)) (message u)) in
      let range := get (tabulate (fun u => range_of (message u))) in
      {| start := start base; least := vadd (least base) (charges range);
         most := vadd (most base) (vscale (-1) (charges (fun u => (- snd (range u), - fst (range u))))) |}.
  End Term.

  Definition term_at (r : rule Z) (v : Z) (message : Z -> carried) : carried :=
    match r with
    | Fixed rows => total_of (rows v) (fun e => times (snd e) (message (fst e)))
    | ByReceiver itself entry => term_of itself (fun i _ => entry i) false v message
    | ByBoth itself entry => term_of itself entry true v message
    end.
  Definition unit_at (b : Z) (v : Z) (terms : list (rule Z * (Z -> carried))) : carried :=
    plus (constant b) (total_of terms (fun t => term_at (fst t) v (snd t))).

  (* Messages through a column of weights, from units that are passed on. *)
  Definition through (inputs : Z) (column : Z -> Z) (units : Z -> Z -> carried) (u : Z) : carried :=
    total_of (ids inputs) (fun i => times (column i) (units u i)).
  Definition passed (l : ruled Z) (units : Z -> Z -> carried) (u i : Z) : carried := if ruled_relu l i then activated (units u i) else units u i.
  Definition twice (f : Z -> Z -> carried) : Z -> Z -> carried := let t := tabulate (fun u => tabulate (f u)) in fun u i => get (get t u) i.

  (* What the terms of a layer send to one of its units, or to the difference of two: through weights, or of the first layer from what it sends. *)
  Variable sent : list ((rule Z * (Z -> Z -> Z)) * table (list Z)).
  Definition sent_to (l : ruled Z) (below : list (ruled Z)) (column : (Z -> Z -> Z) -> Z -> Z) (pick : list Z -> Z) (units : Z -> Z -> carried) : list (rule Z * (Z -> carried)) :=
    match below with
    | [] => map (fun s => (fst (fst s), fun u => constant (pick (get (snd s) u)))) sent
    | _ => map (fun p => (fst p, get (tabulate (through (ruled_inputs l) (column (snd p)) units)))) (ruled_terms l)
    end.
  Definition at_place (j : Z) (ms : list Z) : Z := nth (Z.to_nat j) ms 0.
  (* What the layers pass on, the last one first. *)
  Fixpoint passed_by (net : list (ruled Z)) : Z -> Z -> carried :=
    match net with
    | [] => fun _ _ => constant 0
    | l :: below =>
        let units := passed_by below in
        let messages := tabulate (fun j => sent_to l below (fun w i => w i j) (at_place j) units) in
        twice (passed l (fun u j => unit_at (ruled_bias l u j) u (get messages j)))
    end.
  (* The margin of a class over another, a unit whose weights are differences. *)
  Definition margin_at (net : list (ruled Z)) (t y other : Z) : carried :=
    match net with
    | [] => constant 0
    | l :: below =>
        unit_at (ruled_bias l t y - ruled_bias l t other) t
          (sent_to l below (fun w i => w i y - w i other) (fun ms => at_place y ms - at_place other ms) (passed_by below))
    end.
End Carried.

(* Is the class kept by every set that has `made` and nothing of `left_out`? Only where all open changes of rows that are read are removals. *)
Fixpoint no_repeats (l : list Z) : bool := match l with [] => true | a :: rest => negb (existsb (Z.eqb a) rest) && no_repeats rest end.
Definition each_edge_once (l : list edge) : list edge := fold_right (fun c rest => if among c rest then rest else c :: rest) [] l.
Definition removes (E : edge_problem) (c : edge) : bool :=
  existsb (Z.eqb (fst c)) (graph_of E (snd c)) && (directed E || existsb (Z.eqb (snd c)) (graph_of E (fst c))).
Definition bound_keeps (p : edges_prepared) (t y : Z) (others : list Z) (made left_out : list edge) : bool :=
  let E := edges_of p in
  let g := graph_after p made in
  let near := each_once (rows_read g (edge_net p) [t]) in
  let open := each_edge_once (filter (fun c => negb (among c made || among c left_out) && is_admissible_changes E (c :: made)) (flat_map (get (into p)) near)) in
  let budget := most_changes E - size made in
  let room v := Z.min budget (most_at E v - size (counted_at E v made)) in
  forallb (removes E) open && forallb (fun v => no_repeats (g v)) near && Z.leb 0 y && Z.ltb y (edge_classes p) &&
  let known := rows_known E g open room in
  forallb (fun other => Z.leb 0 other && Z.ltb other (edge_classes p) &&
    Z.ltb 0 (fst (range_of budget (margin_at g budget known (sent_once p) (edge_net p) t y other)))) others.

Definition judge_changes (p : edges_prepared) : bool -> Z -> Z -> edge_claim -> edge_answer := judge_edges (bound_keeps p) p.

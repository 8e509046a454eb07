(* Changed edges: what removals can do to a number, carried from layer to layer; definitions only. A number on the graph of a path is carried with
   what it changes by at least and at most, as sums over the open removals that a set has. *)
From Coq Require Import ZArith List Bool.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Edges.
Import ListNotations.
Open Scope Z_scope.

(* Sums over removals: keys of edges, ascending, with what each adds. *)
Definition sparse := list (Z * Z).
Fixpoint sadd (a : sparse) : sparse -> sparse :=
  match a with
  | [] => fun b => b
  | d :: a' =>
      fix go b := match b with
        | [] => d :: a'
        | e :: b' =>
            if Z.ltb (fst d) (fst e) then d :: sadd a' b
            else if Z.eqb (fst d) (fst e) then (fst d, snd d + snd e) :: sadd a' b'
            else e :: go b'
        end
  end.
Fixpoint sadd_pairs (ls : list sparse) : list sparse := match ls with a :: b :: rest => sadd a b :: sadd_pairs rest | _ => ls end.
Fixpoint ssum_in (rounds : nat) (ls : list sparse) : sparse :=
  match rounds with
  | O => fold_right sadd [] ls
  | S more => match ls with [] => [] | [a] => a | _ => ssum_in more (sadd_pairs ls) end
  end.
Definition ssum : list sparse -> sparse := ssum_in 64.
Definition smap (f : Z -> Z) (a : sparse) : sparse := map (fun e => (fst e, f (snd e))) a.

(* What it changes by at least, and at most, is computed only where it is asked for. *)
Record carried := { start : Z; at_least : delayed sparse; at_most : delayed sparse }.
Definition least (c : carried) : sparse := force (at_least c).
Definition most (c : carried) : sparse := force (at_most c).
Definition constant (x : Z) : carried := {| start := x; at_least := Delay []; at_most := Delay [] |}.
Definition times (a : Z) (c : carried) : carried :=
  if Z.leb 0 a then {| start := a * start c; at_least := Delay (smap (Z.mul a) (least c)); at_most := Delay (smap (Z.mul a) (most c)) |}
  else {| start := a * start c; at_least := Delay (smap (Z.mul a) (most c)); at_most := Delay (smap (Z.mul a) (least c)) |}.
Definition total_of (l : list carried) : carried :=
  {| start := zsum l start; at_least := Delay (ssum (map least l)); at_most := Delay (ssum (map most l)) |}.

Definition minimum {A} (l : list A) (f : A -> Z) : Z :=
  match l with [] => 0 | a :: rest => fold_right (fun b m => Z.min (f b) m) (f a) rest end.
(* The least that d times a number between two ends is; each of them is computed only where it is asked for. *)
Definition ends := (delayed Z * delayed Z)%type.
Definition low_product (d : Z) (range : ends) : Z := if Z.eqb d 0 then 0 else if Z.leb 0 d then d * force (fst range) else d * force (snd range).
Definition up_to (k : Z) : list Z := map (Z.add 1) (ids k).

(* The sum of the largest positive numbers of a list, so many of them: for any number that is not negative so many times this, and what the others are above it; the best is the last of
   the largest, found in one pass. *)
Fixpoint put (x : Z) (l : list Z) : list Z := match l with [] => [x] | y :: rest => if Z.leb x y then x :: l else y :: put x rest end.
Definition keep_largest (kept : list Z) (x : Z) : list Z := match kept with [] => [] | y :: rest => if Z.leb x y then kept else put x rest end.
Definition top (budget : Z) (l : list Z) : Z :=
  let above := if Z.leb (Z.of_nat (length l)) budget then 0 else match fold_left keep_largest l (repeat 0 (Z.to_nat budget)) with [] => 0 | x :: _ => pos x end in
  budget * above + zsum l (fun x => if Z.leb x above then 0 else x - above).

Section Carried.
  Variables (E : edge_problem) (g : graph) (is_open : edge -> bool) (budget : Z) (room : Z -> Z).

  Definition low_end (c : carried) : Z := start c - top budget (map (fun e => - snd e) (least c)).
  Definition high_end (c : carried) : Z := start c + top budget (map snd (most c)).
  Definition range_of (c : carried) : ends := (Delay (low_end c), Delay (high_end c)).
  Definition activated (c : carried) : carried :=
    if Z.leb 0 (start c) then
      if Z.leb 0 (low_end c) then c
      else {| start := start c; at_least := Delay (smap (fun x => Z.max (Z.min x 0) (- start c)) (least c)); at_most := Delay (smap pos (most c)) |}
    else
      let high := high_end c in
      if Z.leb high 0 then constant 0
      else {| start := 0; at_least := Delay []; at_most := Delay (smap (fun x => - (- (pos x * high) / (high - start c))) (most c)) |}.

  (* The change that an arc belongs to, and its key. *)
  Definition named (u v : Z) : edge := if directed E || Z.ltb u v then (u, v) else (v, u).
  Definition key_of (u v : Z) : Z := let c := named u v in fst c * node_count E + snd c.
  Definition open_into (v : Z) : list Z := filter (fun u => is_open (named u v)) (g v).
  Definition cuts_into (v : Z) : sparse := ssum (map (fun u => [(key_of u v, 1)]) (open_into v)).
  Definition capacity (v : Z) : Z := Z.max 0 (Z.min (room v) (Z.of_nat (length (open_into v)))).

  (* What is known of rows, computed once. *)
  Record row_table := { cuts_of : table sparse; capacities : table Z }.
  Definition rows_known : row_table := {| cuts_of := tabulate cuts_into; capacities := tabulate capacity |}.
  Variable known : row_table.

  (* Of a node from which a row receives: its entry; what that changes by with 1, 2, ... removals from the row, unless it is removed itself; the key of its arc if that is open; how much the
     entry changes for each removal from the sender's own row, at least and at most; and the keys of these removals. *)
  Record arrival := { from : Z; entry_of : Z; rises : list Z; arc : list Z; rates : Z * Z; elsewhere : sparse }.
  Definition arrival_of (itself : Z -> bool) (entry : Z -> Z -> Z) (by_senders : bool) (v u : Z) : arrival :=
    let n := Spec.size_of itself g v in
    let s := Spec.size_of itself g u in
    let k := get (capacities known) v in
    let moved := by_senders && negb (Z.eqb u v) in
    let own := if existsb (Z.eqb u) (g v) && is_open (named u v) then [key_of u v] else [] in
    {| from := u; entry_of := entry n s;
       rises := map (fun r => entry (n - r) (if Z.eqb u v then n - r else s) - entry n s) (up_to k);
       arc := own;
       rates := if moved then
           fold_right (fun d range => (Z.min (fst d / snd d) (fst range), Z.max (- (- fst d / snd d)) (snd range))) (0, 0)
             (flat_map (fun r => let a := entry (n - r) s in map (fun q => (entry (n - r) (s - q) - a, q)) (up_to (get (capacities known) u))) (ids (k + 1)))
         else (0, 0);
       elsewhere := if moved then filter (fun e => negb (existsb (Z.eqb (fst e)) own)) (get (cuts_of known) u) else [] |}.
  Definition plan_of (itself : Z -> bool) (entry : Z -> Z -> Z) (by_senders : bool) (v : Z) : list arrival :=
    map (arrival_of itself entry by_senders v) (received itself g v).

  (* What a row receives at least. *)
  Record part_of := { sent : carried; reached : ends; risen : list Z }.
  Definition part_at (message : Z -> carried) (a : arrival) : part_of :=
    let c := message (from a) in
    let range := range_of c in
    {| sent := times (entry_of a) c; reached := range; risen := map (fun d => low_product d range) (rises a) |}.
  Definition cut_charge (shares : list Z) (p : part_of) : Z :=
    minimum (combine shares (risen p)) (fun e => fst e - snd e) - start (sent p) - top budget (map snd (least (sent p))).
  Definition sender_charge (a : arrival) (range : ends) : Z := Z.min (low_product (fst (rates a)) range) (low_product (snd (rates a)) range).
  Definition lower (plan : list arrival) (k : Z) (message : Z -> carried) : sparse :=
    let parts := map (fun a => (a, part_at message a)) plan in
    let spreads := fold_right (fun p sums => vadd (risen (snd p)) sums) (map (fun _ => 0) (up_to k)) parts in
    let shares := map (fun e => fst e / snd e) (combine spreads (up_to k)) in
    ssum (flat_map (fun p => [least (sent (snd p)); map (fun key => (key, cut_charge shares (snd p))) (arc (fst p));
                              smap (Z.mul (sender_charge (fst p) (reached (snd p)))) (elsewhere (fst p))]) parts).
  Definition negated (c : carried) : carried := {| start := - start c; at_least := Delay (smap Z.opp (most c)); at_most := Delay (smap Z.opp (least c)) |}.
  Definition term_of (plan : list arrival) (k : Z) (message : Z -> carried) : carried :=
    {| start := zsum plan (fun a => entry_of a * start (message (from a))); at_least := Delay (lower plan k message);
       at_most := Delay (smap Z.opp (lower plan k (fun u => negated (message u)))) |}.

  (* A term whose rows are planned, with its messages. *)
  Inductive planned := Constantly (rows : Z -> list (Z * Z)) | Following (plans : table (list arrival)).
  Definition planned_of (r : rule Z) : planned :=
    match r with
    | Fixed rows => Constantly rows
    | ByReceiver itself entry => Following (tabulate (plan_of itself (fun i _ => entry i) false))
    | ByBoth itself entry => Following (tabulate (plan_of itself entry true))
    end.
  Definition term_at (r : planned) (v : Z) (message : Z -> carried) : carried :=
    match r with
    | Constantly rows => total_of (map (fun e => times (snd e) (message (fst e))) (rows v))
    | Following plans => term_of (get plans v) (get (capacities known) v) message
    end.
  Definition unit_at (b : Z) (v : Z) (terms : list (planned * (Z -> carried))) : carried :=
    total_of (constant b :: map (fun t => term_at (fst t) v (snd t)) terms).

  (* Messages through a column of weights, from units that are passed on. *)
  Definition through (inputs : Z) (column : Z -> Z) (units : Z -> carried) : carried :=
    total_of (map (fun i => times (column i) (units i)) (ids inputs)).
  Definition passed (l : ruled Z) (units : Z -> Z -> carried) (u i : Z) : carried := if ruled_relu l i then activated (units u i) else units u i.
  Definition twice (f : Z -> Z -> carried) : Z -> Z -> carried := let t := tabulate (fun u => tabulate (f u)) in fun u i => get (get t u) i.

  Variable once : list ((rule Z * (Z -> Z -> Z)) * table (list Z)).
  (* What the first layer sends to one of its units, or to the difference of two. *)
  Definition sent_first_to (plans : list planned) (pick : list Z -> Z) : list (planned * (Z -> carried)) :=
    combine plans (map (fun s u => constant (pick (get (snd s) u))) once).
  Definition at_place (j : Z) (ms : list Z) : Z := nth (Z.to_nat j) ms 0.
  Definition plans_of (l : ruled Z) : list planned := map (fun p => planned_of (fst p)) (ruled_terms l).
  (* What the layers pass on, the last one first. *)
  Fixpoint passed_by (net : list (ruled Z)) : Z -> Z -> carried :=
    match net with
    | [] => fun _ _ => constant 0
    | l :: below =>
        let plans := plans_of l in
        let messages := match below with
          | [] => fun j => sent_first_to plans (at_place j)
          | _ =>
              let units := twice (passed_by below) in
              get (tabulate (fun j => combine plans (map (fun p => get (tabulate (fun u => through (ruled_inputs l) (fun i => snd p i j) (units u)))) (ruled_terms l))))
          end in
        passed l (fun u j => unit_at (ruled_bias l u j) u (messages j))
    end.

  (* The margins of a class over some others at a node: units whose weights are differences. What a node sends to them is computed for all of them at once, so that
     what it passes on need not be kept; nor is it kept for what a margin changes by at most. *)
  Definition sent_once_by (l : ruled Z) (column : Z -> Z) (units own : Z -> carried) : carried :=
    let c := through (ruled_inputs l) column own in
    let low := least c in
    {| start := start c; at_least := Delay low; at_most := Delay (most (through (ruled_inputs l) column units)) |}.
  Definition sent_by (l : ruled Z) (others : list Z) (units : Z -> Z -> carried) (y u : Z) : list (Z * list carried) :=
    let own := get (tabulate (units u)) in
    map (fun other => (other, map (fun p => sent_once_by l (fun i => snd p i y - snd p i other) (units u) own) (ruled_terms l))) (filter (fun other => negb (Z.eqb other y)) others).
  Definition sent_against (other : Z) (k : nat) (l : list (Z * list carried)) : carried :=
    match List.find (fun e => Z.eqb (fst e) other) l with Some e => nth k (snd e) (constant 0) | None => constant 0 end.
  Definition margin_at (net : list (ruled Z)) (others : list Z) : Z -> Z -> Z -> carried :=
    match net with
    | [] => fun _ _ _ => constant 0
    | l :: below =>
        let plans := plans_of l in
        let messages := match below with
          | [] => fun y other => sent_first_to plans (fun ms => at_place y ms - at_place other ms)
          | _ =>
              let known := tabulate (fun y => tabulate (sent_by l others (passed_by below) y)) in
              fun y other => combine plans (map (fun k u => sent_against other k (get (get known y) u)) (seq 0 (length (ruled_terms l))))
          end in
        fun t y other => unit_at (ruled_bias l t y - ruled_bias l t other) t (messages y other)
    end.
End Carried.

(* The keys of removals without which a number stays positive: those that lower it most. *)
Fixpoint lowering (most : nat) (budget from : Z) (l : list (Z * Z)) : option (list Z) :=
  if Z.ltb 0 (from - top budget (map (fun e => - fst e) l)) then Some []
  else
    match most, l with
    | S fewer, e :: rest => match lowering fewer budget from rest with Some keys => Some (snd e :: keys) | None => None end
    | _, _ => None
    end.
Fixpoint all_lowering (budget : Z) (l : list carried) : option (list Z) :=
  match l with
  | [] => Some []
  | c :: rest =>
      match lowering 64 budget (start c) (sort (map (fun e => (snd e, fst e)) (least c))), all_lowering budget rest with
      | Some a, Some b => Some (a ++ b)
      | _, _ => None
      end
  end.

(* Changes one of which every set has that has `made`, nothing of `left_out` and loses the class; none are named where insertions are permitted in rows that are read. *)
Fixpoint no_repeats (l : list Z) : bool := match l with [] => true | a :: rest => negb (existsb (Z.eqb a) rest) && no_repeats rest end.
Definition removes (E : edge_problem) (c : edge) : bool :=
  existsb (Z.eqb (fst c)) (graph_of E (snd c)) && (directed E || existsb (Z.eqb (snd c)) (graph_of E (fst c))).

(* What is known of the graph after some changes, whichever node is asked about: rows of which removals are the only changes, and margins. *)
Definition is_open_after (p : edges_prepared) (made left_out : list edge) (c : edge) : bool :=
  negb (among c made || among c left_out) && is_admissible_changes (edges_of p) (c :: made).
Definition budget_after (p : edges_prepared) (made : list edge) : Z := most_changes (edges_of p) - size made.
Definition room_after (p : edges_prepared) (made : list edge) (v : Z) : Z :=
  Z.min (budget_after p made) (most_at (edges_of p) v - size (counted_at (edges_of p) v made)).
Record changed_so := { removes_only : table bool; margin_of : Z -> Z -> Z -> carried }.
Definition after (p : edges_prepared) (others : list Z) (made left_out : list edge) : changed_so :=
  let E := edges_of p in
  let g := graph_after p made in
  let is_open := is_open_after p made left_out in
  {| removes_only := tabulate (fun v => forallb (removes E) (get (into p) v) && (ascending (map (fun u => (u, tt)) (g v)) || no_repeats (g v)));
     margin_of := margin_at E g is_open (budget_after p made) (rows_known E g is_open (room_after p made)) (sent_once p) (edge_net p) others |}.

(* What is known of the graph without changes is kept for all nodes, except of deep networks, where it would be too much. *)
Record edges_ready := { prepared_edges : edges_prepared; unchanged : option changed_so }.
Definition prepare_changes (net : list (ruled Z)) (classes : Z) (E : edge_problem) (V : zrows) : option edges_ready :=
  match prepare_edges net classes E V with
  | Some p => Some {| prepared_edges := p; unchanged := match net with _ :: _ :: _ :: _ => None | _ => Some (after p (ids classes) [] []) end |}
  | None => None
  end.
Definition known_after (r : edges_ready) (others : list Z) (made left_out : list edge) : changed_so :=
  match unchanged r, made, left_out with Some known, [], [] => known | _, _, _ => after (prepared_edges r) others made left_out end.

Definition critical (r : edges_ready) (t y : Z) (others : list Z) (made left_out : list edge) : option (list edge) :=
  let p := prepared_edges r in
  let known := known_after r others made left_out in
  let near := each_once (rows_read (graph_after p made) (edge_net p) [t]) in
  if forallb (get (removes_only known)) near && Z.leb 0 y && Z.ltb y (edge_classes p) && forallb (fun other => Z.leb 0 other && Z.ltb other (edge_classes p) && negb (Z.eqb other y)) others
  then
    option_map (map (fun k => (k / node_count (edges_of p), k mod node_count (edges_of p))))
      (all_lowering (budget_after p made) (map (margin_of known t y) others))
  else None.

Definition judge_changes (r : edges_ready) : bool -> Z -> Z -> edge_claim -> edge_answer := judge_edges (critical r) (prepared_edges r).

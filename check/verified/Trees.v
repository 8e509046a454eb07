(* Trees of splits, lines of bounds, witnesses, and the judgement of a node: definitions only. *)
From Coq Require Import ZArith List Bool.
From Verified Require Import Spec Sums Tables Rules Integers Checker.
Import ListNotations.
Open Scope Z_scope.

(* A condition on a row: of its attributes at most so many are added (or removed), or more. *)
Record condition := { on_row : Z; on_removals : bool; at_most : Z; exceeded : bool }.

Inductive splits :=
| Hinted (h : hints)
| Row (n : Z) (removed : bool) (most : Z) (few many : splits)
| Flip (f : flip) (without made : splits)
| Unit (number n i : Z) (active inactive : splits).

(* A flip forbidden; a flip made and paid. *)
Definition forbid (P : problem) (f : flip) : problem :=
  {| attributes := attributes P; count := count P; permitted := fun n d => if same (n, d) f then false else permitted P n d;
     total := total P; each := each P |}.
Definition make (P : problem) (f : flip) : problem :=
  {| attributes := fun n d => if same (n, d) f then negb (attributes P n d) else attributes P n d; count := count P;
     permitted := fun n d => if same (n, d) f then false else permitted P n d;
     total := total P - 1; each := fun n => if Z.eqb n (fst f) then each P n - 1 else each P n |}.

(* Flips of the same row that exclude each other: once one is made, the others are not. *)
Definition exclude (rivals : Z -> Z -> bool) (P : problem) (f : flip) : problem :=
  {| attributes := attributes P; count := count P;
     permitted := fun n d => if Z.eqb n (fst f) && rivals (snd f) d then false else permitted P n d; total := total P; each := each P |}.
(* What a condition leaves to the other flips, once one is made. *)
Definition relieved (P : problem) (f : flip) (c : condition) : condition :=
  {| on_row := on_row c; on_removals := on_removals c; exceeded := exceeded c;
     at_most := if Z.eqb (on_row c) (fst f) && Bool.eqb (attributes P (fst f) (snd f)) (on_removals c) then at_most c - 1 else at_most c |}.
Definition no_rivals : Z -> Z -> bool := fun _ _ => false.

Definition signs := Z -> Z -> Z -> option bool.
Definition no_signs : signs := fun _ _ _ => None.
Definition know (s : signs) (number n i : Z) (side : bool) : signs :=
  fun number' n' i' => if Z.eqb number' number && Z.eqb n' n && Z.eqb i' i then Some side else s number' n' i'.

Definition bounds := Z -> Z -> option (list (Z * Z)).

(* What a problem allows to ask: bounds of leaves, intervals, and logits after flips. *)
Record view := {
  bound_of : list condition -> signs -> bounds -> hints -> network Z -> Z -> objective -> result Z;
  intervals_of : bounds -> hints -> bool -> network Z -> Z -> list Z -> result (list (Z * list (Z * Z)));
  logits_of : list flip -> Z -> list Z }.

(* What is computed once for all nodes: flips that exclude each other, views of any problem, and the view of the one that proofs are about. *)
Record prepared := { of_net : network Z; classes : Z; attribute_count : Z; rivals : Z -> Z -> bool; view_of : problem -> view; root : view }.

(* The logits without flips are computed of each node once. *)
Definition logits_from (net : network Z) (classes : Z) (first : layer Z) (width : Z) (read : (Z -> Z -> bool) -> Z -> Z -> list (Z * Z)) (X : Z -> Z -> bool)
  (sent : list (term Z * table (list Z))) (rest : table (list Z)) (F : list flip) : Z -> list Z :=
  match F with
  | [] => get rest
  | _ => get (zforward net (sent_after F first width (read (flipped X F)) sent) classes)
  end.

Section Plain.
  Variables (net : network Z) (top : Z) (first : layer Z) (width : Z) (made : list ready) (rows : list (Z * (list (list Z) * Z))).
  Variable base : fixed.

  Definition plain_view (P : problem) (sent : list (term Z * table (list Z))) (l2 : layer2) : view :=
    let rest := zforward net sent top in
    {| bound_of := fun _ s whole h => bound P s whole made l2 h rows width;
       intervals_of := fun whole h => intervals P no_signs whole l2 h width;
       logits_of := logits_from net top first width plain_rows (attributes P) sent rest |}.
  Definition plain_sent (P : problem) : list (term Z * table (list Z)) := sent_from first width (plain_rows (attributes P)).
  Definition plain_layer2 (P : problem) (sent : list (term Z * table (list Z))) : layer2 := layer2_of P first width base sent.
  Definition plain_prepared (P : problem) (rivals : Z -> Z -> bool) (root : view) : prepared :=
    {| of_net := net; classes := top; attribute_count := count P; rivals := rivals;
       view_of := fun P => let sent := plain_sent P in plain_view P sent (plain_layer2 P sent); root := root |}.
End Plain.

(* Weights are rounded to multiples of about 2^-26 of the largest. *)
Definition grain_for (rows : list (Z * (list (list Z) * Z))) : Z := Z.sqrt (first_square rows) / 67108864.

Definition prepare (net : network Z) (classes : Z) (P : problem) (rivals : Z -> Z -> bool) : option prepared :=
  match bottom net classes with
  | Some (first, width) =>
      if Z.eqb (inputs first) (count P)
      then
        let made := all_ready (count P) width first in
        let rows := attribute_rows (count P) width first in
        let base := fixed_of first width (grain_for rows) made in
        let sent := plain_sent first width P in
        let root := plain_view net classes first width made rows P sent (plain_layer2 first width base P sent) in
        Some (plain_prepared net classes first width made rows base P rivals root)
      else None
  | None => None
  end.

Section Judge.
  Variable p : prepared.

  (* Is the objective above `least`? The view is that of the problem. *)
  Fixpoint tree_above (least : Z) (P : problem) (v : view) (C : list condition) (s : signs) (whole : bounds) (o : objective) (t : splits) : bool :=
    match t with
    | Hinted h => match bound_of v C s whole h (of_net p) (classes p) o with Got b => Z.ltb least b | Impossible => true | Failed => false end
    | Flip f without made =>
        let forbidden := forbid P f in
        let kept := exclude (rivals p) (make P f) f in
        tree_above least forbidden (view_of p forbidden) C s whole o without &&
        (Z.leb (total P) 0 || Z.leb (each P (fst f)) 0 || tree_above least kept (view_of p kept) (map (relieved P f) C) s whole o made)
    | Row n removed most few many =>
        let limit more := {| on_row := n; on_removals := removed; at_most := most; exceeded := more |} in
        tree_above least P v (limit false :: C) s whole o few && tree_above least P v (limit true :: C) s whole o many
    | Unit number n i active inactive =>
        tree_above least P v C (know s number n i true) whole o active && tree_above least P v C (know s number n i false) whole o inactive
    end.
  Definition tree_holds : problem -> view -> list condition -> signs -> bounds -> objective -> splits -> bool := tree_above 0.

  (* Coefficient c for one unit of a node. *)
  Definition one_unit (width n i c : Z) : objective := [(n, map (fun j => if Z.eqb j i then c else 0) (ids width))].
  (* scale times the margin of class y over another. *)
  Definition margin (t y other scale : Z) : objective :=
    [(t, map (fun j => if Z.eqb j y then scale else if Z.eqb j other then - scale else 0) (ids (classes p)))].

  (* Bounds of the units of one node of a layer above 2, whatever admissible flips are made. *)
  Record bounds_line := { at_layer : Z; at_node : Z; with_reach : hints; units : list (Z * (list (Z * hints) * list (Z * hints))) }.

  Fixpoint layers_from (net : network Z) (top number : Z) : option (network Z * Z) :=
    match net with
    | [] => None
    | l :: below => if Z.eqb (layer_number net) number then Some (net, top) else layers_from below (inputs l) number
    end.

  Definition raise_low (whole : bounds) (net : network Z) (width n i : Z) (low : Z) (h : Z * hints) : Z :=
    if Z.ltb 0 (fst h) then
      match bound_of (root p) [] no_signs whole (snd h) net width (one_unit width n i (fst h)) with
      | Got b => Z.max low (- ((- b) / fst h)) | _ => low end
    else low.
  Definition lower_high (whole : bounds) (net : network Z) (width n i : Z) (high : Z) (h : Z * hints) : Z :=
    if Z.ltb 0 (fst h) then
      match bound_of (root p) [] no_signs whole (snd h) net width (one_unit width n i (- fst h)) with
      | Got b => Z.min high ((- b) / fst h) | _ => high end
    else high.

  Definition line_bounds (whole : bounds) (l : bounds_line) : option (list (Z * Z)) :=
    match layers_from (of_net p) (classes p) (at_layer l) with
    | Some (net, width) =>
        match intervals_of (root p) whole (with_reach l) (Z.leb 4 (at_layer l)) net width [at_node l] with
        | Got [(n, b)] =>
            if Z.eqb n (at_node l) then
              Some (map (fun q =>
                match List.find (fun u => Z.eqb (fst u) (fst q)) (units l) with
                | Some u => (fold_left (raise_low whole net width n (fst q)) (fst (snd u)) (fst (snd q)),
                             fold_left (lower_high whole net width n (fst q)) (snd (snd u)) (snd (snd q)))
                | None => snd q
                end) (combine (ids width) b))
            else None
        | _ => None
        end
    | None => None
    end.

  Definition no_bounds : bounds := fun _ _ => None.
  Definition add_line (whole : bounds) (l : bounds_line) : option bounds :=
    match line_bounds whole l with
    | Some b => Some (fun number n => if Z.eqb number (at_layer l) && Z.eqb n (at_node l) then Some b else whole number n)
    | None => None
    end.

  (* Witnesses. *)
  Fixpoint distinct (F : list flip) : bool :=
    match F with [] => true | f :: rest => negb (existsb (same f) rest) && distinct rest end.
  Definition is_admissible (P : problem) (F : list flip) : bool :=
    distinct F && forallb (fun f => permitted P (fst f) (snd f) && Z.leb 0 (snd f) && Z.ltb (snd f) (count P)) F &&
    Z.leb (size F) (total P) && forallb (fun f => Z.leb (size (of_node (fst f) F)) (each P (fst f))) F.

  Definition are_apart (F : list flip) : bool :=
    forallb (fun f => forallb (fun g => negb (Z.eqb (fst f) (fst g) && rivals p (snd f) (snd g)) || same f g) F) F.

  Definition logits (t : Z) (F : list flip) : list (Z * Z) := combine (ids (classes p)) (logits_of (root p) F t).
  Definition logit_of (l : list (Z * Z)) (y : Z) : option Z :=
    match List.find (fun e => Z.eqb (fst e) y) l with Some e => Some (snd e) | None => None end.
  Definition leads (l : list (Z * Z)) (y : Z) : bool :=
    match logit_of l y with
    | Some own => forallb (fun e => Z.eqb (fst e) y || Z.ltb (snd e) own || (Z.eqb (snd e) own && Z.ltb y (fst e))) l
    | None => false
    end.
  Definition is_predicted (t y : Z) : bool := leads (logits t []) y.

  Inductive claim := Robust (scale : Z) (trees : list (Z * splits)) | Witness (other : Z) (F : list flip).
  Inductive verdict := IsRobust | IsBroken | IsTied.

  Definition robust_holds (P : problem) (whole : bounds) (t y scale : Z) (trees : list (Z * splits)) : bool :=
    Z.ltb 0 scale && Z.leb 0 y && Z.ltb y (classes p) &&
    forallb (fun other => Z.eqb other y ||
      match List.find (fun e => Z.eqb (fst e) other) trees with
      | Some e => tree_holds P (root p) [] no_signs whole (margin t y other scale) (snd e)
      | None => false
      end) (ids (classes p)).

  Definition judge (P : problem) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) : option verdict :=
    if Z.eqb (count P) (attribute_count p) then
      match c with
      | Robust scale trees => if robust_holds P whole t y scale trees then Some IsRobust else None
      | Witness other F =>
          if is_admissible P F && are_apart F && negb (Z.eqb other y) && (negb by_prediction || is_predicted t y) then
            let l := logits t F in
            match logit_of l y, logit_of l other with
            | Some a, Some b => if Z.ltb a b then Some IsBroken else if Z.eqb a b then Some IsTied else None
            | _, _ => None
            end
          else None
      end
    else None.
End Judge.

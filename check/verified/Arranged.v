(* The network that runs and the chain of its exact values: where layers stand in the chain, what of it is only passed on, and a check that both
   have the same values. Definitions only. *)
From Coq Require Import ZArith List Bool.
From Verified Require Import Spec Sums Tables Rules Integers.
Import ListNotations.
Open Scope Z_scope.

(* The exponents of the scales of a layer's operators and weights, the last layer first; with that of what the first layer reads, `base`, together that of
   its values. *)
Definition shifts := list (Z * Z).
Fixpoint shift_of (base : Z) (s : shifts) : Z := match s with [] => base | (a, w) :: rest => shift_of base rest + a + w end.

(* Where a layer of the network that runs stands in the chain: below so many of its layers, from this unit on, and how many units it has. *)
Record place := { layers_above : nat; first_unit : Z; wide : Z }.

(* Units of a layer of the chain that stand together: those of layer k, number 0 being the rows, or what term i of layer k makes of the rows; computed here,
   or passed on by the layer below. For each of their terms, which one of the chain's layer has it, and where what it reads begins. *)
Inductive content := Computed (k : nat) | Product (k i : nat).
Record block := { block_first : Z; block_width : Z; content_of : content; is_made : bool; takes : list (nat * Z) }.

(* What a block takes of the layer below by one of its terms: from a unit on, so many, with these weights, and by these rows of an operator. *)
Record window := { taken : nat; offset : Z; breadth : Z; factors : Z -> Z -> Z; by_rows : Z -> list (Z * Z) }.

Definition same_content (c d : content) : bool :=
  match c, d with
  | Computed k, Computed k' => Nat.eqb k k'
  | Product k i, Product k' i' => Nat.eqb k k' && Nat.eqb i i'
  | _, _ => false
  end.
Definition stands (held : list block) (c : content) (from size : Z) : bool :=
  existsb (fun b => same_content (content_of b) c && Z.eqb (block_first b) from && Z.eqb (block_width b) size) held.
Fixpoint same_row (r r' : list (Z * Z)) : bool :=
  match r, r' with
  | [], [] => true
  | e :: r, e' :: r' => Z.eqb (fst e) (fst e') && Z.eqb (snd e) (snd e') && same_row r r'
  | _, _ => false
  end.
Fixpoint numbered {B} (from : nat) (l : list B) : list (nat * B) := match l with [] => [] | b :: l => (from, b) :: numbered (S from) l end.
Fixpoint each_some {B C} (f : B -> option C) (l : list B) : option (list C) :=
  match l with
  | [] => Some []
  | b :: l => match f b, each_some f l with Some c, Some cs => Some (c :: cs) | _, _ => None end
  end.
Definition unity (scale : Z) : Z -> Z -> Z := fun i j => if Z.eqb i j then scale else 0.
Definition alone_at (scale : Z) : Z -> list (Z * Z) := fun m => [(m, scale)].

Section Arranged.
  (* So many nodes and attributes. *)
  Variables (nodes count : Z) (net : list (stage Z)) (places : list place) (s : shifts).

  (* What a term of layer k reads: what an earlier one has passed on, or of the rows the product with its weights. *)
  Definition window_of (held : list block) (width unit : Z) (k : nat) (e : (nat * reader Z) * (nat * Z)) : option window :=
    let t := snd (fst e) in
    let from := snd (snd e) in
    if stands held (Computed (read_layer t)) from (read_units t) then
      Some {| taken := fst (snd e); offset := from; breadth := read_units t; factors := weight t; by_rows := operator t |}
    else if Nat.eqb (read_layer t) 0 && stands held (Product k (fst (fst e))) from width then
      Some {| taken := fst (snd e); offset := from; breadth := width; factors := unity unit; by_rows := operator t |}
    else None.

  (* What a block takes, its bias, and which of its units have a relu. *)
  Definition windows (held : list block) (a w : Z) (b : block) : option (list window * ((Z -> Z -> Z) * (Z -> bool))) :=
    let nothing := ((fun _ _ => 0), (fun _ => false)) in
    match is_made b, content_of b with
    | true, Computed (S k) =>
        match nth_error net k with
        | Some l =>
            if Nat.eqb (length (steps l)) (length (takes b)) then
              match each_some (window_of held (block_width b) (2 ^ w) k) (combine (numbered 0 (steps l)) (takes b)) with
              | Some list => Some (list, (stage_bias l, rectifies l))
              | None => None
              end
            else None
        | None => None
        end
    | true, Computed O => None
    | true, Product k i =>
        match nth_error net k, nth_error places k with
        | Some l, Some p =>
            match nth_error (steps l) i, nth_error s (layers_above p), takes b with
            | Some t, Some (_, v), [(column, from)] =>
                if Nat.eqb (read_layer t) 0 && stands held (Computed 0) from (read_units t) &&
                  forallb (fun i => forallb (fun j => Z.eqb (weight t i j * 2 ^ w / 2 ^ v * 2 ^ v) (weight t i j * 2 ^ w)) (ids (block_width b))) (ids (read_units t))
                then Some ([{| taken := column; offset := from; breadth := read_units t; factors := fun i j => weight t i j * 2 ^ w / 2 ^ v;
                              by_rows := alone_at (2 ^ a) |}], nothing)
                else None
            | _, _, _ => None
            end
        | _, _ => None
        end
    | false, c =>
        match takes b with
        | [(column, from)] =>
            if stands held c from (block_width b) then
              Some ([{| taken := column; offset := from; breadth := block_width b; factors := unity (2 ^ w); by_rows := alone_at (2 ^ a) |}], nothing)
            else None
        | _ => None
        end
    end.

  Definition window_fits (l : layer Z) (x : window) : bool :=
    Z.leb 0 (offset x) && Z.leb 0 (breadth x) && Z.leb (offset x + breadth x) (inputs l) &&
    match nth_error (terms l) (taken x) with
    | Some t => forallb (fun m => same_row (operator t m) (by_rows x m)) (ids nodes)
    | None => false
    end.
  Definition in_window (x : window) (number : nat) (v : Z) : bool := Nat.eqb (taken x) number && Z.leb (offset x) v && Z.ltb v (offset x + breadth x).
  Definition weights_fit (l : layer Z) (b : block) (list : list window) : bool :=
    forallb (fun e => forallb (fun v => forallb (fun j =>
      Z.eqb (weight (snd e) v (block_first b + j)) (zsum list (fun x => if in_window x (fst e) v then factors x (v - offset x) j else 0)))
      (ids (block_width b))) (ids (inputs l))) (numbered 0 (terms l)).
  Definition block_fits (depth : nat) (l : layer Z) (a w : Z) (held : list block) (b : block) : bool :=
    match windows held a w b with
    | Some (list, (bias', relu')) =>
        forallb (window_fits l) list && weights_fit l b list &&
        forallb (fun j => Bool.eqb (relu l (block_first b + j)) (relu' j) &&
          forallb (fun m => Z.eqb (bias l m (block_first b + j)) (bias' m j)) (ids nodes)) (ids (block_width b)) &&
        match is_made b, content_of b with
        | true, Computed (S k) =>
            match nth_error places k with
            | Some p => Nat.eqb (layers_above p) depth && Z.eqb (first_unit p) (block_first b) && Z.eqb (wide p) (block_width b)
            | None => false
            end
        | _, _ => true
        end
    | None => false
    end.

  (* Each layer of the chain, the last one first. What the first one reads are the rows. *)
  Definition the_rows : block := {| block_first := 0; block_width := count; content_of := Computed 0; is_made := true; takes := [] |}.
  Definition held_by (blocks : list (list block)) : list block := match blocks with [] => [the_rows] | bs :: _ => bs end.
  Fixpoint arranged (depth : nat) (z : network Z) (s : shifts) (blocks : list (list block)) : bool :=
    match z, s, blocks with
    | [], [], [] => true
    | l :: below, (a, w) :: rest, bs :: others =>
        forallb (block_fits depth l a w (held_by others)) bs &&
        forallb (fun t => forallb (fun m => forallb (fun e => Z.leb 0 (fst e) && Z.ltb (fst e) nodes) (operator t m)) (ids nodes)) (terms l) &&
        arranged (S depth) below rest others
    | _, _, _ => false
    end.

  (* Each layer that runs stands in the chain, and reads earlier ones, with all of their units; the last one stands alone at the top. *)
  Definition well_placed (k : nat) (l : stage Z) (p : place) (blocks : list (list block)) : bool :=
    match nth_error blocks (layers_above p) with
    | Some bs => existsb (fun b => is_made b && same_content (content_of b) (Computed (S k))) bs
    | None => false
    end &&
    forallb (fun t => match read_layer t with
      | O => Z.eqb (read_units t) count
      | S i => Nat.ltb i k && match nth_error places i with Some p' => Z.eqb (read_units t) (wide p') | None => false end
      end) (steps l).
  Definition all_placed (classes : Z) (blocks : list (list block)) : bool :=
    Nat.eqb (length net) (length places) &&
    forallb (fun e => well_placed (fst e) (fst (snd e)) (snd (snd e)) blocks) (numbered 0 (combine net places)) &&
    match rev places, rev net with
    | p :: _, l :: _ =>
        Nat.eqb (layers_above p) 0 && Z.eqb (first_unit p) 0 && Z.eqb (wide p) classes && forallb (fun j => negb (rectifies l j)) (ids classes)
    | _, _ => false
    end.
End Arranged.

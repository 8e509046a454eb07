(* The checker of a leaf: definitions only. *)
From Coq Require Import ZArith List Bool.
From Verified Require Export Steps Slopes Nested.
From Verified Require Import Spec Sums Tables Rules Integers.
Import ListNotations.
Open Scope Z_scope.

(* One target: a layer's units on one problem, with the signs that the path knows and bounds known beforehand. *)
Section Leaf.
  Variables (P : problem) (sign : Z -> Z -> Z -> option bool) (whole : Z -> Z -> option (list (Z * Z))).
  Variables (made_ready : list ready) (l2 : layer2) (h : hints) (rows_of_weights : list (Z * (list (list Z) * Z))) (width2 : Z).

  Definition clipped (number n width : Z) (b : list (Z * Z)) : result (list (Z * Z)) :=
    let c := map (fun p => clip (sign number n (fst p)) (snd p)) (combine (ids width) b) in
    if existsb empty_interval c then Impossible else Got c.

  (* A list of nodes with their intervals, for the layer on top of `net`; width is that of this layer. With the shortcut, the layer below
     has bounds known beforehand. *)
  Fixpoint intervals (shortcut : bool) (net : network Z) (width : Z) (wanted : list Z) : result (list (Z * list (Z * Z))) :=
    match net with
    | [] => Failed
    | l :: below =>
        match below with
        | [] =>
            if Z.eqb width width2 then
              each_one (fun m =>
                let rows := linked l2 m in
                if ascending rows then
                  bind (each_one (fun p =>
                    let range := range_at P h rows m (fst p) (snd (snd p)) in
                    bind (fst range) (fun U => bind (snd range) (fun V => Got (fst (snd p) - V, fst (snd p) + U)))) (combine (ids width) (ranges l2 m)))
                    (fun b => bind (clipped 2 m width b) (fun c => Got (m, c)))
                else Failed) wanted
            else Failed
        | _ =>
            let senders := sources (terms l) wanted in
            bind (if shortcut
                  then each_one (fun n => match whole (layer_number below) n with
                    | Some w => if Nat.eqb (length w) (length (ids (inputs l))) then Got (n, w) else Failed
                    | None => Failed end) senders
                  else intervals false below (inputs l) senders) (fun inner =>
              let find_inner := tabulate (fun n => match List.find (fun e => Z.eqb (fst e) n) inner with Some e => snd e | None => [] end) in
              each_one (fun m =>
                if forallb (fun e => Nat.eqb (length (get find_inner (fst e))) (length (ids (inputs l)))) (entries_of l m) then
                  let b := propagate l below (get find_inner) width m in
                  let b := match whole (layer_number net) m with Some w => meet b w | None => b end in
                  bind (clipped (layer_number net) m width b) (fun c => Got (m, c))
                else Failed) wanted)
        end
    end.

  (* Only one layer has bends of layer 3. *)
  Definition either (a b : nest) : result nest :=
    match joints a, joints b with [], _ => Got b | _, [] => Got a | _, _ => Failed end.

  (* The constant, the lines of the units of layer 2 by node, and the bends of layer 3. *)
  Fixpoint descend (net : network Z) (width : Z) (o : objective) : result (Z * (list (Z * list unit2) * nest)) :=
    match net with
    | [] => Failed
    | l :: below =>
        match below with
        | [] =>
            if Z.eqb width width2 then
              Got (zsum o (fun e => zsum (combine (combine (ids width) (snd e)) (at_rest l2 (fst e))) (fun p => snd (fst p) * snd p)),
                   (map (fun e => (fst e, map (fun p => {| place := fst p; rise := snd p; fall := snd p; bent := [] |}) (combine (ids width) (snd e)))) o, no_nest))
            else Failed
        | [first] =>
            let '(constant, k) := pull l width o in
            if Z.eqb (inputs l) width2 then
              bind (each_one (fun e =>
                let m := fst e in
                let rows := linked l2 m in
                if ascending rows then
                  bind (each_one (fun p => unit_bound P h first rows (sign 2 m (fst (fst p))) m (fst (fst p)) (snd (fst p)) (fst (snd p))
                      (range_at P h rows m (fst (fst p)) (snd (snd p))))
                    (combine (combine (ids (inputs l)) (snd e)) (ranges l2 m)))
                    (fun us => Got (zsum us fst, (m, map snd us)))
                else Failed) k) (fun all => Got (constant + zsum all fst, (map snd all, no_nest)))
            else Failed
        | _ =>
            let '(constant, k) := pull l width o in
            bind (intervals false below (inputs l) (map fst k)) (fun known =>
            bind (nest_above P made_ready l2 h rows_of_weights width2 below (inputs l) k) (fun above =>
            bind (each_one (fun e =>
                match List.find (fun b => Z.eqb (fst b) (fst e)) known with
                | Some b =>
                    match below with
                    | l' :: _ => bind (relax l' (slope h (layer_number below) (fst e)) (ids (inputs l)) (snd e) (snd b))
                                   (fun r => Got (fst r, (fst e, snd r)))
                    | [] => Failed
                    end
                | None => Failed
                end) (fst (snd above))) (fun relaxed =>
            bind (descend below (inputs l) (map snd relaxed)) (fun rest =>
            bind (either (snd (snd above)) (snd (snd rest))) (fun ns =>
              Got (constant - fst above + zsum relaxed fst + fst rest, (fst (snd rest), ns)))))))
        end
    end.

  (* Has the unit prices of a node's own? Then its flips may gain even where they change nothing. *)
  Definition concerns (n : Z) (u : unit2) : bool :=
    existsb (fun b => match snd b with
      | Paying up down =>
          existsb (fun e => Z.eqb (fst (fst e)) n) (own up) || existsb (fun e => Z.eqb (fst (fst e)) n) (own down) ||
          existsb (fun e => Z.eqb (fst e) n) (nodes (common up)) || existsb (fun e => Z.eqb (fst e) n) (nodes (common down))
      | _ => false
      end) (bent u).

  (* By sending node: the units that it reaches, with the entries; and units that it does not reach but that have prices for it. *)
  Definition near (all : list (list (Z * list (ready * Z)) * list unit2)) : list (Z * (list unit2 * list (ready * Z))) :=
    flat_map (fun e => map (fun r => (fst r, (snd e, snd r))) (fst e)) all.
  Definition far (keys : list Z) (all : list (list (Z * list (ready * Z)) * list unit2)) : list (Z * (list unit2 * list (ready * Z))) :=
    flat_map (fun e => if existsb (fun u => match bent u with [] => false | _ => true end) (snd e)
      then map (fun n => (n, (snd e, []))) (filter (fun n => existsb (concerns n) (snd e) && negb (existsb (fun r => Z.eqb (fst r) n) (fst e))) keys)
      else []) all.

  (* What flips of a row lose: times the squares of an attribute, `steepness` is no less than the square of it; `lost` is no less unless
     it is at most a price, and `roughly_lost` is no less. Rows are looked at one by one: until then only what they are made from is kept. *)
  Record losing := { steepness : Z; lost : Z -> Z -> list (list Z) -> Z; roughly_lost : Z -> Z }.

  Definition plain_row (n : Z) (items : list (list unit2 * list (ready * Z))) (_ : unit) : losing :=
    let sp := specials items in
    let s := all_slopes made_ready plain items in
    let above := match sp with [] => s | _ => all_slopes made_ready most items end in
    let sc := Delay (screen_of (grain l2) above) in
    {| steepness := steepest above;
       lost := fun p d ws => if ruled_out sc (attributes P n d) (rough l2 d) p then p else products (attributes P n d) s ws + extra P sp n d;
       roughly_lost := fun d => rough_bound sc (attributes P n d) (rough l2 d) |}.

  (* The same with bends of layer 3, which rows `around` reach: attributes are ruled out by slopes first. *)
  Definition nested_row (ns : nest) (around : list (Z * list (Z * list (ready * Z)))) (shadows : table (list unit2))
    (n : Z) (items : list (list unit2 * list (ready * Z))) (_ : unit) : losing :=
    let here := at_row around n in
    let sp := specials items in
    let s := all_slopes made_ready plain items in
    let above := all_slopes made_ready most (items ++ map (fun it => (get shadows (fst it), snd it)) here) in
    let sc := Delay (screen_of (grain l2) above) in
    {| steepness := steepest above;
       lost := fun p d ws => if ruled_out sc (attributes P n d) (rough l2 d) p || Z.leb (products (attributes P n d) above ws) p then p
         else products (attributes P n d) s ws + extra P sp n d + joint_loss P h (ground ns) (joints ns) here n d;
       roughly_lost := fun d => rough_bound sc (attributes P n d) (rough l2 d) |}.

  Definition losses (lines : list (Z * list unit2)) (ns : nest) : result (list (Z * (unit -> losing))) :=
    let all := map (fun e => (linked l2 (fst e), snd e)) lines in
    let reached := group (near all) in
    let rows := match far (map fst reached) all with [] => reached | more => group (near all ++ more) end in
    let changeable := filter (fun row => Z.ltb 0 (left P (fst row))) rows in
    if forallb (fun e => ascending (fst e)) all && forallb (fun e => aligned (snd e) (ids width2)) lines && ascending reached && ascending rows
    then
      match joints ns with
      | [] => Got (map (fun row => (fst row, plain_row (fst row) (snd row))) changeable)
      | js =>
          let around := surroundings (linked l2) (senders ns) in
          if sound_surroundings (linked l2) (senders ns) around
             && forallb (fun b => forallb (fun r => existsb (Z.eqb (fst r)) (senders ns)) (over b)) js
             && forallb (fun r => existsb (fun row => Z.eqb (fst row) (fst r)) rows) around
          then
            let shadows := tabulate (shaded width2 (shades h (ground ns) js)) in
            Got (map (fun row => (fst row, nested_row ns around shadows (fst row) (snd row))) changeable)
          else Failed
      end
    else Failed.

  (* A constant, and what flips lose of it. width is that of the top layer, width2 that of layer 2. *)
  Definition linear (net : network Z) (width : Z) (o : objective) : result (Z * list (Z * (unit -> losing))) :=
    bind (descend net width o) (fun r => bind (losses (fst (snd r)) (snd (snd r))) (fun rows => Got (fst r, rows))).

  (* Rule 1 for it. *)
  Definition lost_above (row : Z * (unit -> losing)) : Z :=
    let (n, look) := row in
    let r := look tt in
    let p := price_of (price h) n in
    scan (steepness r) (p * p) rows_of_weights (fun d ws => if free P n d then pos (lost r p d ws - p) else 0).
  Definition bound (net : network Z) (width : Z) (o : objective) : result Z :=
    bind (linear net width o) (fun r =>
      if not_negative (price h) then Got (fst r - (paid P (price h) + zsum (snd r) lost_above)) else Failed).
End Leaf.

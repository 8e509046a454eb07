(* Rows divided by their sums: what flips of one row change and lose at most, and rules 1, 2 and 6 for whole rows. Definitions only. *)
From Coq Require Import ZArith List Bool.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees.
Import ListNotations.
Open Scope Z_scope.

(* The largest first; none if they do not fall, which cannot be. *)
Fixpoint falls (l : list Z) : bool := match l with a :: ((b :: _) as rest) => Z.leb b a && falls rest | _ => true end.
Definition ranked (l : list Z) : option (list Z) :=
  let s := map fst (rev_append (sort (map (fun x => (x, tt)) l)) []) in if falls s then Some s else None.
(* The first of a sorted column that count, so many. *)
Fixpoint take (count : nat) (keep : Z -> bool) (b : Z) (l : list (Z * Z)) : list Z :=
  match l with
  | [] => []
  | (w, d) :: rest => match count with O => [] | S more => if keep d then b * w :: take more keep b rest else take count keep b rest end
  end.
(* 0, 1, 2, ... with the sums of so many of a list. *)
Fixpoint running (from acc : Z) (l : list Z) : list (Z * Z) :=
  (from, acc) :: match l with [] => [] | x :: rest => running (from + 1) (acc + x) rest end.
Fixpoint highest (l : list Z) : option Z :=
  match l with [] => None | x :: rest => match highest rest with Some y => Some (Z.max x y) | None => Some x end end.
Fixpoint once (l : list Z) : list Z :=
  match l with [] => [] | n :: rest => if existsb (Z.eqb n) rest then once rest else n :: once rest end.

(* Prices are chosen where none are stated: about those at which rows would make as many flips as may be made. Any price is valid. *)
Fixpoint push (stack : list (Z * Z)) (p : Z * Z) : list (Z * Z) :=
  match stack with
  | a :: ((b :: _) as rest) => if Z.leb ((snd a - snd b) * (fst p - fst a)) ((snd p - snd a) * (fst a - fst b)) then push rest p else p :: stack
  | _ => p :: stack
  end.
Fixpoint drop_flat (stack : list (Z * Z)) : list (Z * Z) :=
  match stack with a :: ((b :: _) as rest) => if Z.leb (snd a) (snd b) then drop_flat rest else stack | _ => stack end.
Fixpoint rates (reserved : Z) (stack : list (Z * Z)) : list (Z * Z) :=
  match stack with
  | a :: ((b :: _) as rest) => ((snd a - snd b) / (fst a - fst b), pos (fst a - reserved) - pos (Z.min (Z.max (fst b) reserved) (fst a) - reserved)) :: rates reserved rest
  | _ => []
  end.
Definition tops (menu : list (Z * Z)) : list (Z * Z) :=
  map (fun g => (fst g, match highest (snd g) with Some x => x | None => 0 end)) (group menu).
Definition hull (points : list (Z * Z)) : list (Z * Z) := drop_flat (fold_left push (filter (fun p => Z.ltb 0 (fst p)) points) [(0, 0)]).
Fixpoint rate_at (flips : Z) (l : list (Z * Z)) : Z :=
  match l with [] => 0 | (rate, count) :: rest => if Z.leb flips count then rate else rate_at (flips - count) rest end.
Definition chosen_price (flips : Z) (all : list (Z * Z)) : Z :=
  if Z.leb (zsum all snd) flips then 0 else pos (rate_at flips (rev_append (sort all) [])).
Definition stated (h : hints) (m j : Z) : prices * prices :=
  match reach h m j with Some p => p | None => ({| every := 0; nodes := [] |}, {| every := 0; nodes := [] |}) end.
Definition unstated (p : prices) : bool := Z.eqb (every p) 0 && match nodes p with [] => true | _ => false end.

Section Rows.
  Variables (P : problem) (sigma : Z -> Z) (C : list condition) (present : Z -> list Z).

  Definition own (n : Z) : Z := Z.of_nat (length (present n)).
  Definition left_in (n : Z) : Z := Z.max 0 (left P n).

  (* Numbers of attributes added and removed that the conditions allow, and the fewest. *)
  Definition allows (n a r : Z) : bool :=
    forallb (fun c => negb (Z.eqb (on_row c) n) ||
      let k := if on_removals c then r else a in if exceeded c then Z.ltb (at_most c) k else Z.leb k (at_most c)) C.
  Definition fewest (n : Z) (removed : bool) : Z :=
    fold_right (fun c k => if Z.eqb (on_row c) n && Bool.eqb (on_removals c) removed && exceeded c then Z.max (at_most c + 1) k else k) 0 C.
  Definition reserved (n : Z) : Z := fewest n false + fewest n true.
  Definition all_reserved : Z := zsum (once (map on_row C)) reserved.
  Definition hopeless : bool :=
    Z.ltb (total P) all_reserved ||
    existsb (fun c => (Z.ltb 0 (reserved (on_row c)) && Z.ltb (left P (on_row c)) (reserved (on_row c))) ||
      (negb (exceeded c) && Z.ltb (at_most c) (fewest (on_row c) (on_removals c)))) C.

  (* What a row loses by adding and removing some: the row as a whole is multiplied, and what is added or removed. *)
  Definition way (n grown shrunk : Z) (a r : Z * Z) : Z :=
    let before := sigma (own n) in
    let after := sigma (own n + fst a - fst r) in
    (if Z.leb before after then (after - before) * grown else (before - after) * shrunk) + after * (snd a + snd r).
  Definition menu (n grown shrunk : Z) (adds removes : list Z) : list (Z * Z) :=
    flat_map (fun a => flat_map (fun r =>
      if Z.leb (fst a + fst r) (left_in n) && allows n (fst a) (fst r) then [(fst a + fst r, way n grown shrunk a r)] else [])
      (running 0 0 removes)) (running 0 0 adds).

  (* Rule 1 for whole rows: menus of some, with prices. Where flips must be made, their part of the budget is spent. *)
  Definition beyond (price : Z) (m : list (Z * Z)) : option Z := highest (map (fun e => snd e - price * fst e) m).
  Definition beyond_reserved (price kept : Z) (m : list (Z * Z)) : Z :=
    match highest (map (fun e => snd e - price * pos (fst e - kept)) m) with Some x => pos x | None => 0 end.

  Definition reach_price (menus : list (Z * list (Z * Z))) (p : prices) : prices :=
    if unstated p
    then {| every := chosen_price (total P - all_reserved) (flat_map (fun e => rates (reserved (fst e)) (hull (tops (snd e)))) menus); nodes := [] |}
    else p.
  Definition reach_rows (menus : list (Z * list (Z * Z))) (p : prices) : result Z :=
    let p := reach_price menus p in
    if not_negative p
    then Got (paid P p - all_reserved * every p + zsum menus (fun e => beyond_reserved (price_of p (fst e)) (reserved (fst e)) (snd e)))
    else Failed.

  Definition after_base (kept : Z) (points : list (Z * Z)) : list (Z * Z) :=
    match List.find (fun p => Z.eqb (fst p) kept) points with
    | Some base => map (fun p => (fst p - kept, snd p - snd base)) (filter (fun p => Z.leb kept (fst p)) points)
    | None => []
    end.
  Definition lose_price (menus : list (Z * list (Z * Z))) (p : prices) : prices :=
    if unstated p
    then {| every := chosen_price (total P - all_reserved) (flat_map (fun e => rates 0 (hull (after_base (reserved (fst e)) (tops (snd e))))) menus); nodes := [] |}
    else p.
  Definition lose_rows (menus : list (Z * list (Z * Z))) (p : prices) : result Z :=
    let p := lose_price menus p in
    if not_negative p then
      bind (each_one (fun e => match beyond (price_of p (fst e)) (snd e) with Some x => Got x | None => Impossible end) menus) (fun most =>
        Got (paid P p + zsum most (fun x => x)))
    else Failed.

  (* Rule 2: what flips of a row change in a unit, times s = 1 or -1. *)
  Definition kept (n : Z) (removed : bool) (d : Z) : bool := Bool.eqb (attributes P n d) removed && free P n d.
  Definition ranks_of (n : Z) (removed : bool) (l : list Z) (f : Z -> Z) : option (list Z) :=
    match ranked (map f (filter (kept n removed) l)) with Some s => Some (firstn (Z.to_nat (left_in n)) s) | None => None end.
  Definition additions (n s : Z) (grp : list (ready * Z)) (j : Z) : option (list Z) :=
    match grp with
    | [(t, a)] =>
        match get (columns t) j with
        | Some c => Some (if Z.leb (s * a) 0 then take (Z.to_nat (left_in n)) (kept n false) (s * a) (rising c)
                          else take (Z.to_nat (left_in n)) (kept n false) (- (s * a)) (turned c))
        | None => ranks_of n false (ids (count P)) (fun d => s * weights grp j d)
        end
    | _ => ranks_of n false (ids (count P)) (fun d => s * weights grp j d)
    end.
  Definition unit_menu (s j : Z) (row : Z * list (ready * Z)) : result (Z * list (Z * Z)) :=
    let (n, grp) := row in
    let whole := s * zsum (present n) (weights grp j) in
    match additions n s grp j, ranks_of n true (present n) (fun d => - (s * weights grp j d)) with
    | Some adds, Some removes => Got (n, menu n whole (- whole) adds removes)
    | _, _ => Failed
    end.
  Definition reach_unit (s : Z) (rows : list (Z * list (ready * Z))) (j : Z) (p : prices) : result Z :=
    bind (each_one (unit_menu s j) rows) (fun menus => reach_rows menus p).
End Rows.

Section RowLeaf.
  Variables (P : problem) (sigma : Z -> Z) (C : list condition) (present : Z -> list Z).
  Variables (sign : Z -> Z -> Z -> option bool) (whole : Z -> Z -> option (list (Z * Z))).
  Variables (made_ready : list ready) (h : hints) (listed : list (Z * list (list Z))) (width2 : Z).

  (* What a row sends: those of its attributes, divided. *)
  Definition divided_rows (X : Z -> Z -> bool) (size n : Z) : list (Z * Z) :=
    let here := filter (X n) (ids size) in let s := sigma (Z.of_nat (length here)) in map (fun d => (d, s)) here.
  Definition from_here (size n : Z) : list (Z * Z) := let here := present n in let s := sigma (Z.of_nat (length here)) in map (fun d => (d, s)) here.

  Definition row_unit_bound (first : layer Z) (rows : list (Z * list (ready * Z))) (side : option bool) (m j k z : Z) : result (Z * unit2) :=
    if relu first j then
      bind (reach_unit P sigma C present 1 rows j (fst (stated h m j))) (fun U =>
      bind (reach_unit P sigma C present (-1) rows j (snd (stated h m j))) (fun V =>
        let (r, f) := line h m j in
        match least k z r f U V side with
        | Some base => Got (base, {| place := j; rise := r; fall := f; bent := [] |})
        | None => Impossible
        end))
    else Got (k * z, {| place := j; rise := k; fall := k; bent := [] |}).

  Fixpoint row_intervals (shortcut : bool) (net : network Z) (width : Z) (wanted : list Z) : result (list (Z * list (Z * Z))) :=
    match net with
    | [] => Failed
    | l :: below =>
        match below with
        | [] =>
            let z := zforward [l] (sent_from l width from_here) width in
            each_one (fun m =>
              let rows := links made_ready m in
              if ascending rows then
                bind (each_one (fun p =>
                  bind (reach_unit P sigma C present 1 rows (fst p) (fst (stated h m (fst p)))) (fun U =>
                  bind (reach_unit P sigma C present (-1) rows (fst p) (snd (stated h m (fst p)))) (fun V =>
                  Got (snd p - V, snd p + U)))) (combine (ids width) (get z m)))
                  (fun b => bind (clipped sign 2 m width b) (fun c => Got (m, c)))
              else Failed) wanted
        | _ =>
            let senders := sources (terms l) wanted in
            bind (if shortcut
                  then each_one (fun n => match whole (layer_number below) n with
                    | Some w => if Nat.eqb (length w) (length (ids (inputs l))) then Got (n, w) else Failed
                    | None => Failed end) senders
                  else row_intervals false below (inputs l) senders) (fun inner =>
              let find_inner := tabulate (fun n => match List.find (fun e => Z.eqb (fst e) n) inner with Some e => snd e | None => [] end) in
              each_one (fun m =>
                if forallb (fun e => Nat.eqb (length (get find_inner (fst e))) (length (ids (inputs l)))) (entries_of l m) then
                  let b := propagate l below (get find_inner) width m in
                  let b := match whole (layer_number net) m with Some w => meet b w | None => b end in
                  bind (clipped sign (layer_number net) m width b) (fun c => Got (m, c))
                else Failed) wanted)
        end
    end.

  Fixpoint row_descend (net : network Z) (width : Z) (o : objective) : result (Z * list (Z * list unit2)) :=
    match net with
    | [] => Failed
    | l :: below =>
        match below with
        | [] =>
            let z := zforward [l] (sent_from l width from_here) width in
            Got (zsum o (fun e => zsum (combine (combine (ids width) (snd e)) (get z (fst e))) (fun p => snd (fst p) * snd p)),
                 map (fun e => (fst e, map (fun p => {| place := fst p; rise := snd p; fall := snd p; bent := [] |}) (combine (ids width) (snd e)))) o)
        | [first] =>
            let '(constant, k) := pull l width o in
            let z := zforward [first] (sent_from first (inputs l) from_here) (inputs l) in
            bind (each_one (fun e =>
              let m := fst e in
              let rows := links made_ready m in
              if ascending rows then
                bind (each_one (fun p => row_unit_bound first rows (sign 2 m (fst (fst p))) m (fst (fst p)) (snd (fst p)) (snd p))
                  (combine (combine (ids (inputs l)) (snd e)) (get z m)))
                  (fun us => Got (zsum us fst, (m, map snd us)))
              else Failed) k) (fun all => Got (constant + zsum all fst, map snd all))
        | _ =>
            let '(constant, k) := pull l width o in
            bind (row_intervals false below (inputs l) (map fst k)) (fun known =>
            bind (each_one (fun e =>
                match List.find (fun b => Z.eqb (fst b) (fst e)) known with
                | Some b =>
                    match below with
                    | l' :: _ => bind (relax l' (slope h (layer_number below) (fst e)) (ids (inputs l)) (snd e) (snd b))
                                   (fun r => Got (fst r, (fst e, snd r)))
                    | [] => Failed
                    end
                | None => Failed
                end) k) (fun relaxed =>
            bind (row_descend below (inputs l) (map snd relaxed)) (fun rest =>
              Got (constant + zsum relaxed fst + fst rest, snd rest))))
        end
    end.

  (* Rule 6: what changes of what a row sends lose, by slopes added up by term and by kinks. Falls that are less than rises are raised to them. *)
  Definition raised (p : Z * Z) : Z * Z := (fst p, Z.max (fst p) (snd p)).
  Definition kink (alone : bool) (u : unit2) (g : Z) : Z := if straight alone u then 0 else Z.max (rise u) (fall u) * pos (- g) - rise u * pos g.
  Definition lost (s : list (list (Z * Z))) (sp : list (bool * (list unit2 * list (ready * Z)))) (removed : bool) (ws : list (list Z)) (ds : list Z) : Z :=
    products removed s ws + zsum sp (fun it => zsum (fst (snd it)) (fun u =>
      kink (fst it) u ((if removed then -1 else 1) * zsum ds (weights (snd (snd it)) (place u))))).

  Definition ranks_lost (s : list (list (Z * Z))) (sp : list (bool * (list unit2 * list (ready * Z)))) (n : Z) (removed : bool) : option (list Z) :=
    if Z.leb (left P n) 0 then Some []
    else match ranked (map (fun e => lost s sp removed (snd e) [fst e]) (filter (fun e => kept P n removed (fst e)) listed)) with
         | Some l => Some (firstn (Z.to_nat (left_in P n)) l)
         | None => None
         end.
  Definition loss_menu (row : Z * list (list unit2 * list (ready * Z))) : result (Z * list (Z * Z)) :=
    let (n, items) := row in
    let sp := specials items in
    let s := map (map raised) (all_slopes made_ready plain items) in
    let here := present n in
    let sums := map (fun t => map (fun j => zsum here (fun d => weight (source t) d j)) (ids width2)) made_ready in
    match ranks_lost s sp n false, ranks_lost s sp n true with
    | Some adds, Some removes => Got (n, menu P sigma C present n (lost s sp false sums here) (lost s sp true sums here) adds removes)
    | _, _ => Failed
    end.

  Definition row_loss_bound (lines : list (Z * list unit2)) : result Z :=
    let all := map (fun e => (links made_ready (fst e), snd e)) lines in
    let reached := group (near all) in
    if forallb (fun e => ascending (fst e)) all && forallb (fun e => aligned (snd e) (ids width2)) lines && ascending reached
    then bind (each_one loss_menu reached) (fun menus => lose_rows P C menus (price h))
    else Failed.

  Definition row_bound (net : network Z) (width : Z) (o : objective) : result Z :=
    if hopeless P C then Impossible
    else bind (row_descend net width o) (fun r => bind (row_loss_bound (snd r)) (fun T => Got (fst r - T))).
End RowLeaf.

Definition row_view (net : network Z) (classes : Z) (first : layer Z) (width : Z) (made : list ready) (listed : list (Z * list (list Z))) (sigma : Z -> Z)
  (P : problem) : view :=
  let present := tabulate (fun n => filter (attributes P n) (ids (count P))) in
  let sent := sent_from first width (divided_rows sigma (attributes P)) in
  let rest := zforward net sent classes in
  {| bound_of := fun C s whole h => row_bound P sigma C (get present) s whole made h listed width;
     intervals_of := fun whole h => row_intervals P sigma [] (get present) no_signs whole made h;
     logits_of := logits_from net classes first width (divided_rows sigma) (attributes P) sent rest |}.

Definition prepare_rows (net : network Z) (classes : Z) (P : problem) (sigma : Z -> Z) : option prepared :=
  match bottom net classes with
  | Some (first, width) =>
      if Z.leb 0 (count P) && Z.eqb (inputs first) (count P) && forallb (fun c => Z.leb 0 (sigma c)) (ids (count P + 1)) then
        let made := all_ready (count P) width first in
        let listed := map (fun d => (d, map (fun t => map (weight (source t) d) (ids width)) made)) (ids (count P)) in
        let look := row_view net classes first width made listed sigma in
        Some {| of_net := net; classes := classes; attribute_count := count P; rivals := no_rivals; view_of := look; root := look P |}
      else None
  | None => None
  end.

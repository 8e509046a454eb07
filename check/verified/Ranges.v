(* Attributes that are numbers, moved within ranges: definitions only. *)
From Coq Require Import ZArith List Bool.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Edges.
Import ListNotations.
Open Scope Z_scope.

(* An interval for each entry: where it may be moved; and where it lies unless it is one of those still to be chosen. *)
Definition spans := Z -> Z -> Z * Z.
Definition unmoved (V : zrows) : spans := fun n d => let v := V n d in (v, v).
Definition narrow (b : spans) (f : flip) (to : Z * Z) : spans := fun n d => if same (n, d) f then to else b n d.

(* Entries are rational, and integers only if everything is taken times a number: then biases are as well. *)
Definition dilate_layer (D : Z) (l : layer Z) : layer Z :=
  {| terms := terms l; inputs := inputs l; bias := fun m j => D * bias l m j; relu := relu l |}.
Definition dilate (D : Z) (net : network Z) : network Z := map (dilate_layer D) net.

(* `pull`, which most coefficients that are 0 cost nothing. *)
Definition pull_some (l : layer Z) (width : Z) (o : objective) : Z * objective :=
  let parts := flat_map (fun e =>
      let some := filter (fun p => negb (Z.eqb (snd p) 0)) (combine (ids width) (snd e)) in
      flat_map (fun t =>
        let back := map (fun i => zsum some (fun p => snd p * weight t i (fst p))) (ids (inputs l)) in
        map (fun n => (fst n, vscale (snd n) back)) (operator t (fst e))) (terms l)) o in
  (zsum o (fun e => against (ids width) (snd e) (bias l (fst e))), map (fun g => (fst g, fold_right vadd [] (snd g))) (group parts)).

(* What a leaf states: slopes of units as fractions, by layer, node and unit; and prices of units that are split. *)
Record stated_lines := { slope_at : Z -> Z -> Z -> option (Z * Z); price_at : Z -> Z -> Z -> Z }.
Definition no_lines : stated_lines := {| slope_at := fun _ _ _ => None; price_at := fun _ _ _ => 0 |}.

(* Not above u x for x in the interval. *)
Definition least_on (b : Z * Z) (u : Z) : Z := u * (if Z.leb 0 u then fst b else snd b).
(* What is left of the interval of a pre-activation whose sign is known. *)
Definition sided (side : option bool) (b : Z * Z) : Z * Z :=
  match side with None => b | Some true => (0, Z.max (snd b) 0) | Some false => (Z.min (fst b) 0, 0) end.

(* k relu(z) is at least s z and a constant, with any s. *)
Fixpoint lean (l : layer Z) (side : Z -> option bool) (s : Z -> Z -> Z * Z -> Z) (units k : list Z) (b : list (Z * Z)) : result (Z * list Z) :=
  match units, k with
  | i :: units', k0 :: k' =>
      match b with
      | [] => Failed
      | b0 :: b' =>
          bind (lean l side s units' k' b') (fun rest =>
            if relu l i then let s0 := s i k0 b0 in let r := sided (side i) b0 in Got (intercept k0 s0 (fst r) (snd r) + fst rest, s0 :: snd rest)
            else Got (fst rest, k0 :: snd rest))
      end
  | _, _ => Got (0, [])
  end.

Section Bound.
  Variables (P : problem) (moves rest : spans) (sign : signs) (h : stated_lines).

  (* The lines of the format. Nothing rests on them. *)
  Definition line_of (number n i k : Z) (b : Z * Z) : Z :=
    match sign number n i with
    | Some true => k - price_at h number n i
    | Some false => price_at h number n i
    | None =>
        if Z.leb 0 (fst b) then k
        else if Z.leb (snd b) 0 then 0
        else if Z.leb 0 k then
          match slope_at h number n i with
          | Some (a, w) => k * a / w
          | None => if Z.ltb (1048576 * - fst b) (1048575 * snd b) then k else 0
          end
        else k * snd b / (snd b - fst b)
    end.

  (* What moving entries of a row takes at most. *)
  Definition row_losses (e : Z * list Z) : Z * list Z :=
    (fst e, map (fun q => if free P (fst e) (fst q) then pos (least_on (rest (fst e) (fst q)) (snd q) - least_on (moves (fst e) (fst q)) (snd q)) else 0)
      (combine (ids (count P)) (snd e))).

  (* The best prices: of every change the last of as many losses as there may be changes, and in a row by how much the last of its own is above that. Nothing rests on
     their being the best. *)
  Fixpoint insert (x : Z * unit) (l : list (Z * unit)) : list (Z * unit) :=
    match l with a :: rest => if Z.ltb (fst a) (fst x) then x :: l else a :: insert x rest | [] => [x] end.
  Definition largest_losses (most : Z) (l : list Z) : list (Z * unit) :=
    if Z.ltb 32 most then first_of (Z.to_nat most) (sort (map (fun g => (- g, tt)) (filter (Z.ltb 0) l)))
    else
      rev_append (fst (fold_left (fun best g =>
        let x := (- g, tt) in
        if Z.leb g 0 then best
        else if Z.ltb (snd best) most then (insert x (fst best), snd best + 1)
        else match fst best with a :: rest => if Z.ltb (fst x) (fst a) then (insert x rest, snd best) else best | [] => best end) l ([], 0))) [].
  Definition best_of (rows : list (Z * list Z)) : prices :=
    let own := map (fun r => (fst r, largest_losses (left P (fst r)) (snd r))) rows in
    let floor := last_of (total P) (first_of (Z.to_nat (total P)) (sort (flat_map snd own))) in
    {| every := floor;
       nodes := flat_map (fun r => let last := last_of (left P (fst r)) (snd r) in if Z.ltb floor last then [(fst r, last - floor)] else []) own |}.

  Definition entries_bound (k : objective) : result Z :=
    let rows := map row_losses k in
    let p := best_of rows in
    if ascending k && not_negative p then
      Got (zsum k (fun e => zsum (combine (ids (count P)) (snd e)) (fun q => least_on (rest (fst e) (fst q)) (snd q))) -
           (paid P p + zsum rows (fun r => let price := price_of p (fst r) in zsum (snd r) (fun g => pos (g - price)))))
    else Failed.

  (* Not above the objective, whatever is moved. Bounds of units are known of the layers below. *)
  Fixpoint lower (net : network Z) (known : list (table (list (Z * Z)))) (width : Z) (o : objective) : result Z :=
    match net with
    | [] => Failed
    | l :: below =>
        let (constant, k) := pull_some l width o in
        match below with
        | [] => if Z.eqb (inputs l) (count P) then bind (entries_bound k) (fun b => Got (constant + b)) else Failed
        | l' :: _ =>
            match known with
            | [] => Failed
            | t :: known' =>
                let number := layer_number below in
                bind (each_one (fun e =>
                  bind (lean l' (sign number (fst e)) (line_of number (fst e)) (ids (inputs l)) (snd e) (get t (fst e))) (fun r => Got (fst r, (fst e, snd r)))) k) (fun leant =>
                bind (lower below known' (inputs l) (map snd leant)) (fun b => Got (constant + zsum leant fst + b)))
            end
        end
    end.
End Bound.

(* Bounds of all units, whatever is moved: computed of a node when it is first asked for. Objectives are integers, and their slopes are rounded: hence the unit. *)
Definition fine : Z := 18446744073709551616.
Fixpoint units_known (P : problem) (moves rest : spans) (net : network Z) (width : Z) : list (table (list (Z * Z))) :=
  match net with
  | [] => []
  | l :: below =>
      let inner := units_known P moves rest below (inputs l) in
      let least n i c := lower P moves rest no_signs no_lines net inner width (one_unit width n i c) in
      tabulate (fun n =>
        match each_one (fun i => bind (least n i fine) (fun a => bind (least n i (- fine)) (fun b => Got (a / fine, - (b / fine))))) (ids width) with
        | Got b => b
        | _ => []
        end) :: inner
  end.

Record ranges_prepared := {
  ranged_net : network Z; ranged_classes : Z; ranged_first : layer Z * Z; ranged : problem; unmoved_rows : zrows; movable : spans;
  known_units : list (table (list (Z * Z))); unmoved_logits : table (list Z) }.

Definition logits_at (D : Z) (net : network Z) (first : layer Z * Z) (classes : Z) (V : zrows) : table (list Z) :=
  zforward (dilate D net) (sent_from (dilate_layer D (fst first)) (snd first) (sent_rows V)) classes.

Definition prepare_ranges (net : network Z) (classes : Z) (P : problem) (V : zrows) (moves : spans) : option ranges_prepared :=
  match net, bottom net classes with
  | l :: below, Some first =>
      Some {| ranged_net := net; ranged_classes := classes; ranged_first := first; ranged := P; unmoved_rows := V; movable := moves;
              known_units := units_known P moves (unmoved V) below (inputs l); unmoved_logits := logits_at 1 net first classes V |}
  | _, _ => None
  end.

(* Trees. *)
Inductive range_tree :=
| Lines (h : stated_lines)
| UnitSplit (number n i : Z) (active inactive : range_tree)
| EntrySplit (f : flip) (kept moved : range_tree)
| ValueSplit (f : flip) (v : Z) (low high : range_tree).

Section Judge.
  Variable p : ranges_prepared.

  (* Is the objective above `least`? *)
  Fixpoint range_tree_above (least : Z) (P : problem) (rest : spans) (s : signs) (o : objective) (t : range_tree) : bool :=
    match t with
    | Lines h => match lower P (movable p) rest s h (ranged_net p) (known_units p) (ranged_classes p) o with Got b => Z.ltb least b | _ => false end
    | UnitSplit number n i active inactive =>
        range_tree_above least P rest (know s number n i true) o active && range_tree_above least P rest (know s number n i false) o inactive
    | EntrySplit f kept moved =>
        permitted P (fst f) (snd f) && range_tree_above least (forbid P f) rest s o kept &&
        (Z.leb (total P) 0 || Z.leb (each P (fst f)) 0 || range_tree_above least (make P f) (narrow rest f (movable p (fst f) (snd f))) s o moved)
    | ValueSplit f v low high =>
        let b := rest (fst f) (snd f) in
        negb (permitted P (fst f) (snd f)) && range_tree_above least P (narrow rest f (fst b, v)) s o low && range_tree_above least P (narrow rest f (v,
          snd b)) s o high
    end.

  Definition margin_of (t y other scale : Z) : objective :=
    [(t, map (fun j => if Z.eqb j y then scale else if Z.eqb j other then - scale else 0) (ids (ranged_classes p)))].

  (* A witness has values times a number of its own. *)
  Inductive range_claim := Keeps (scale : Z) (trees : list (Z * range_tree)) | Moved (other D : Z) (entries : list (flip * Z)).

  Definition rows_after (D : Z) (entries : list (flip * Z)) : zrows := fun n d =>
    match List.find (fun e => same (n, d) (fst e)) entries with Some e => snd e | None => D * unmoved_rows p n d end.
  Definition range_logits (t : Z) (of : table (list Z)) : list (Z * Z) := combine (ids (ranged_classes p)) (get of t).

  (* Does every margin exceed what is asked of it? *)
  Definition margins_exceed (least : Z -> option Z) (t y scale : Z) (trees : list (Z * range_tree)) : bool :=
    Z.ltb 0 scale && Z.leb 0 y && Z.ltb y (ranged_classes p) &&
    forallb (fun other => Z.eqb other y ||
      match List.find (fun e => Z.eqb (fst e) other) trees, least other with
      | Some e, Some x => range_tree_above (scale * x) (ranged p) (unmoved (unmoved_rows p)) no_signs (margin_of t y other scale) (snd e)
      | _, _ => false
      end) (ids (ranged_classes p)).

  (* By how much the logit of another class is larger than that of y after admissible moves, times D. *)
  Definition moved_by (by_prediction : bool) (t y other D : Z) (entries : list (flip * Z)) : option Z :=
    if Z.ltb 0 D && is_admissible (ranged p) (map fst entries) &&
       forallb (fun e => let b := movable p (fst (fst e)) (snd (fst e)) in Z.leb (D * fst b) (snd e) && Z.leb (snd e) (D * snd b)) entries &&
       negb (Z.eqb other y) && (negb by_prediction || leads (range_logits t (unmoved_logits p)) y)
    then
      let l := range_logits t (logits_at D (ranged_net p) (ranged_first p) (ranged_classes p) (rows_after D entries)) in
      match logit_of l y, logit_of l other with Some a, Some b => Some (b - a) | _, _ => None end
    else None.

  Definition judge_ranges (by_prediction : bool) (t y : Z) (c : range_claim) : option verdict :=
    match c with
    | Keeps scale trees => if margins_exceed (fun _ => Some 0) t y scale trees then Some IsRobust else None
    | Moved other D entries =>
        match moved_by by_prediction t y other D entries with
        | Some x => if Z.ltb 0 x then Some IsBroken else if Z.eqb x 0 then Some IsTied else None
        | None => None
        end
    end.
End Judge.

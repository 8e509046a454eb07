(* One attack for the whole graph: what share lines say of flips, and what they add up to. Definitions only; (1) to (8) are the formulas of
   FORMAT-COLLECTIVE.md. *)
From Coq Require Import ZArith List Bool FMapPositive.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Parts.
Import ListNotations.
Open Scope Z_scope.

(* Shares are integers in units of 2^-24. *)
Definition ONE : Z := 16777216.

(* The sizes of flips, by their weights. *)
Record sizes := { least : Z; few : Z; more : Z }.
Definition size_of (s : sizes) (w : Z) : Z := if Z.leb w 0 then 0 else if Z.leb (least s) w then Z.max (few s) (more s) else more s.

(* Flips that are taken as made, and what their weights leave of ONE to the other flips, which are worth more then (2a). *)
Record cover := { by_cover : Z; taken : list flip; rest : Z }.
Definition covered (c : cover) (w : Z) : Z := by_cover c * Z.min ONE (upward (ONE * w) (rest c)).

(* What a share line adds to the worth of a flip (3), and no less than that by its weight alone. *)
Record stake := { by_weight : Z; by_size : Z; grades : sizes; covers : list cover }.
Definition share_of (s : stake) : Z := by_weight s + by_size s + zsum (covers s) by_cover.
Definition worth_of (s : stake) (f : flip) (w : Z) : Z :=
  by_weight s * w + by_size s * size_of (grades s) w + zsum (covers s) (fun c => if existsb (same f) (taken c) then 0 else covered c w).
Definition worth_at_most (s : stake) (w : Z) : Z :=
  by_weight s * w + by_size s * size_of (grades s) w + zsum (covers s) (fun c => covered c w).
Definition only_weights : stake := {| by_weight := 1; by_size := 0; grades := {| least := 0; few := 0; more := 0 |}; covers := [] |}.

(* Rows, with what flips lose of some constants. *)
Definition reached := list (Z * list (Z * (unit -> losing))).

(* The weight of a flip (1), a rough bound of it, and one by the norm of its attribute, from numbers between 0 and 1 in units of 1 / fine. *)
Definition weight_of (items : list (Z * losing)) (d : Z) (ws : list (list Z)) : Z :=
  fold_right (fun it w => Z.max (Z.min ONE (upward (ONE * pos (lost (snd it) 0 d ws)) (fst it))) w) 0 items.
Definition weight_roughly (items : list (Z * losing)) (d : Z) : Z :=
  fold_right (fun it w => Z.max (Z.min ONE (upward (ONE * pos (roughly_lost (snd it) d)) (fst it))) w) 0 items.
Definition root (x : Z) : Z := Z.sqrt x + 1.
Definition fine : Z := 2 ^ 512.
Definition pace (items : list (Z * losing)) : Z :=
  fold_right (fun it r => Z.max (upward (ONE * fine * root (steepness (snd it))) (fst it)) r) 0 items.
Definition weight_within (pace norm : Z) : Z := Z.min ONE (upward (pace * norm) fine).

Fixpoint place_of (k : nat) (l : list (Z * Z)) : Z :=
  match l, k with [], _ => 0 | a :: _, O => snd a | _ :: rest, S k' => place_of k' rest end.
(* The sum of the k largest: k times the k-th, and what the others are above it. *)
Definition largest (k : Z) (l : list Z) : Z :=
  if Z.leb (Z.of_nat (length l)) k then zsum l pos
  else
    let kth := if Z.ltb 0 k then pos (place_of (Z.to_nat (k - 1)) (sort (map (fun x => (- x, x)) l))) else zsum l pos in
    k * kth + zsum l (fun x => pos (x - kth)).

Section Worth.
  Variables (P : problem) (by_attribute : list (Z * (list (list Z) * Z))).

  (* What flips of a row are worth above a price. *)
  Definition amounts (n price : Z) (items : list (stake * list (Z * (unit -> losing)))) : list Z :=
    let opened := map (fun e => (fst e, map (fun it => (fst it, snd it tt)) (snd e))) items in
    let paces := map (fun e => (fst e, pace (snd e))) opened in
    sift (fun square => let norm := root square in Z.leb (zsum paces (fun e => worth_at_most (fst e) (weight_within (snd e) norm))) price)
      by_attribute
      (fun d ws =>
        if free P n d && negb (Z.leb (zsum opened (fun e => worth_at_most (fst e) (weight_roughly (snd e) d))) price)
        then zsum opened (fun e => worth_of (fst e) (n, d) (weight_of (snd e) d ws)) - price else 0).

  Definition by_row (all : list (stake * reached)) : list (Z * list (stake * list (Z * (unit -> losing)))) :=
    group (flat_map (fun s => map (fun r => (fst r, (fst s, snd r))) (snd s)) all).

  (* No admissible set of flips is worth more (4): in any rows, or in those of m nodes. *)
  Definition most_worth (m : option Z) (p : prices) (all : list (stake * reached)) : option Z :=
    let rows := by_row all in
    if ascending rows && not_negative p then
      match m with
      | None => Some (paid P p + zsum rows (fun r => zsum (amounts (fst r) (price_of p (fst r)) (snd r)) pos))
      | Some m => Some (total P * every p + largest m (map (fun r => largest (left P (fst r)) (amounts (fst r) (every p) (snd r))) rows))
      end
    else None.

  (* What is known of the parts of a graph: of a node whether its prediction may be broken, and what it lacks in shares; of a row how many flips may be made there, and
     what they are worth above the price of every flip. A part is the list of what is known of it. *)
  Record piece := { breakable : Z; lacking : Z; room : Z; above : list Z }.
  Definition pieces (part_of : Z -> Z) (price : Z) (of_nodes : list (Z * (Z * Z))) (rows : list (Z * list (stake * list (Z * (unit -> losing))))) : list (Z * list piece) :=
    group (map (fun e => (part_of (fst e), {| breakable := fst (snd e); lacking := snd (snd e); room := 0; above := [] |})) of_nodes ++
           map (fun r => (part_of (fst r), {| breakable := 0; lacking := 0; room := pos (left P (fst r)); above := best (pos (left P (fst r))) (amounts (fst r) price (snd r)) |})) rows).
  Definition needed_in (price : Z) (above : list Z) (part : list piece) : list Z :=
    needed (ONE * ONE) price (zsum part lacking) (Z.min (total P) (zsum part room)) above (Z.to_nat (zsum part breakable)).

  (* Rounded down in each part, no admissible set of flips breaks more (8). Parts are any, if the flips that break a prediction are in its own one. *)
  Definition most_in_parts (part_of : Z -> Z) (price : Z) (of_nodes : list (Z * (Z * Z))) (all : list (Z * (stake * reached))) : option Z :=
    let rows := by_row (map snd all) in
    let parts := map (fun g => (largest_first (flat_map above (snd g)), g)) (pieces part_of price of_nodes rows) in
    if ascending rows && ascending (map snd parts) && Z.leb 0 price && forallb (fun e => descending (fst e)) parts &&
       forallb (fun s => forallb (fun r => Z.eqb (part_of (fst r)) (part_of (fst s))) (snd (snd s))) all
    then Some (Z.of_nat (length (cheapest (total P) (map (fun e => needed_in price (fst e) (snd (snd e))) parts))) - 1)
    else None.
End Worth.

(* A problem with fewer flips. *)
Definition limited (P : problem) (k : Z) : problem :=
  {| attributes := attributes P; count := count P; permitted := permitted P; total := Z.min k (total P); each := each P |}.

(* The sizes (2): no k - 1 flips have weights of ONE, as prices show. Which k and prices are stated is of no importance. *)
Definition grade (P : problem) (by_attribute : list (Z * (list (list Z) * Z))) (rows : reached) (k : Z) (p : prices) : option sizes :=
  let room := Z.min (total P) (zsum rows (fun r => pos (left P (fst r)))) in
  match most_worth (limited P (k - 1)) by_attribute None p [(only_weights, rows)] with
  | Some T =>
      if Z.leb 1 k && Z.ltb T ONE
      then Some {| least := ONE - T; few := if Z.leb k room then upward ONE k else 0; more := if Z.leb (k + 1) room then upward ONE (k + 1) else 0 |}
      else None
  | None => None
  end.

Record tools := {
  for_nodes : prepared;
  linear_of : bounds -> hints -> objective -> result (Z * list (Z * (unit -> losing)));
  attribute_weights : list (Z * (list (list Z) * Z));
  weights_at : table (list (list Z)) }.

Definition prepare_collective (net : network Z) (classes : Z) (P : problem) : option tools :=
  match bottom net classes with
  | Some (first, width) =>
      if Z.eqb (inputs first) (count P)
      then
        let made := all_ready (count P) width first in
        let rows := attribute_rows (count P) width first in
        let base := fixed_of first width (grain_for rows) made in
        let sent := plain_sent first width P in
        let l2 := plain_layer2 first width base P sent in
        let root := plain_view net classes first width made rows P sent l2 in
        Some {| for_nodes := plain_prepared net classes first width made rows base P no_rivals root;
                linear_of := fun whole h => linear P no_signs whole made l2 h rows width net classes; attribute_weights := rows;
                weights_at := tabulate (fun d => map (fun t => map (weight (snd t) d) (ids width)) (numbered first)) |}
      else None
  | None => None
  end.

Record share_line := {
  owner : Z; reference : Z; of_weight : Z; of_size : Z; leaves : list (Z * (Z * hints)); stated_count : Z; stated_prices : prices;
  stated_covers : list (Z * list flip) }.

Section Lines.
  Variables (t : tools) (P : problem).
  Let p := for_nodes t.

  (* The constants of all other classes, and what flips lose of them. *)
  Definition against_class (whole : bounds) (l : share_line) (other : Z) : result (list (Z * (Z * (unit -> losing)))) :=
    match List.find (fun e => Z.eqb (fst e) other) (leaves l) with
    | Some (_, (scale, h)) =>
        if Z.ltb 0 scale then
          bind (linear_of t whole h (margin p (owner l) (reference l) other scale)) (fun r =>
            if Z.ltb 0 (fst r) then Got (map (fun row => (fst row, (fst r, snd row))) (snd r)) else Failed)
        else Failed
    | None => Failed
    end.
  Definition rows_of (whole : bounds) (l : share_line) : option reached :=
    match each_one (against_class whole l) (filter (fun other => negb (Z.eqb other (reference l))) (ids (classes p))) with
    | Got parts => let rows := group (concat parts) in if ascending rows then Some rows else None
    | _ => None
    end.

  (* What flips that are taken as made leave. Each row is looked at once. *)
  Definition covers_of (rows : reached) (stated : list (Z * list flip)) : list cover :=
    let at_row := tabulate (fun n => match List.find (fun r => Z.eqb (fst r) n) rows with Some r => map (fun it => (fst it, snd it tt)) (snd r) | None => [] end) in
    map (fun c => {| by_cover := fst c; taken := snd c;
      rest := ONE - zsum (snd c) (fun f => if free P (fst f) (snd f) then weight_of (get at_row (fst f)) (snd f) (get (weights_at t) (snd f)) else 0) |}) stated.

  Definition claimed (l : share_line) : Z := of_weight l + of_size l + zsum (stated_covers l) fst.
  Definition sizes_of (rows : reached) (l : share_line) : option sizes :=
    if Z.eqb (of_size l) 0 then Some {| least := 0; few := 0; more := 0 |} else grade P (attribute_weights t) rows (stated_count l) (stated_prices l).
  Definition stake_of (whole : bounds) (l : share_line) : option (stake * reached) :=
    if Z.leb 0 (of_weight l) && Z.leb 0 (of_size l) && forallb (fun c => Z.leb 0 (fst c)) (stated_covers l) && Z.leb (claimed l) ONE && is_predicted p (owner l) (reference l) then
      match rows_of whole l with
      | Some rows =>
          let cs := covers_of rows (stated_covers l) in
          match sizes_of rows l with
          | Some s => if forallb (fun c => Z.ltb 0 (rest c)) cs then Some ({| by_weight := of_weight l; by_size := of_size l; grades := s; covers := cs |}, rows) else None
          | None => None
          end
      | None => None
      end
    else None.

  (* What lines have shown so far: of a node the class that it always keeps, or its class and its share. *)
  Inductive status := IsSafe (class : Z) | IsShared (class share : Z).
  Record state := { known_bounds : bounds; statuses : PositiveMap.t (Z * status); stakes : list ((Z * Z) * (stake * reached)) }.
  Definition nothing_known : state := {| known_bounds := no_bounds; statuses := PositiveMap.empty _; stakes := [] |}.

  Inductive collective_line :=
  | BoundsLine (l : bounds_line)
  | SafeLine (n y scale : Z) (trees : list (Z * splits))
  | ShareLine (l : share_line).

  (* Nothing follows from a line about a node that another one spoke of. *)
  Definition enter (st : state) (n : Z) (s : status) (more : list ((Z * Z) * (stake * reached))) : option state :=
    match find (statuses st) n with
    | Some _ => None
    | None => Some {| known_bounds := known_bounds st; statuses := PositiveMap.add (key n) (n, s) (statuses st); stakes := more ++ stakes st |}
    end.

  Definition take_line (st : state) (l : collective_line) : option state :=
    match l with
    | BoundsLine l =>
        match add_line p (known_bounds st) l with
        | Some whole => Some {| known_bounds := whole; statuses := statuses st; stakes := stakes st |}
        | None => None
        end
    | SafeLine n y scale trees => if robust_holds p P (known_bounds st) n y scale trees then enter st n (IsSafe y) [] else None
    | ShareLine l =>
        match stake_of (known_bounds st) l with
        | Some s => enter st (owner l) (IsShared (reference l) (claimed l)) [((owner l, reference l), s)]
        | None => None
        end
    end.

  (* May the prediction of a node count of which nothing is known? *)
  Definition may_count (counts : Z -> Z -> bool) (n : Z) : bool :=
    let all := ids (classes p) in
    forallb (counts n) all || (existsb (counts n) all && let l := logits p n [] in existsb (fun y => counts n y && leads l y) all).

  Definition counted (counts : Z -> Z -> bool) (st : state) (n : Z) : Z * Z :=
    match find (statuses st) n with
    | Some (IsSafe y) => (if counts n y then 1 else 0, 0)
    | Some (IsShared y share) => if counts n y then (1, ONE - share) else (0, 0)
    | None => if may_count counts n then (1, ONE) else (0, 0)
    end.

  (* Whether it may be broken, and what it lacks in shares. *)
  Definition at_stake (st : state) (e : Z * (Z * Z)) : Z * (Z * Z) :=
    (fst e, match find (statuses st) (fst e) with Some (IsSafe _) => (0, 0) | _ => (fst (snd e), snd (snd e) * ONE) end).

  (* With parts of the graph predictions are rounded down in each of them as well, where rows are not limited. *)
  Definition claim_holds (st : state) (m : option Z) (part_of : option (Z -> Z)) (nodes : Z) (counts : Z -> Z -> bool) (b : Z) (p : prices) : bool :=
    let chosen := filter (fun s => counts (fst (fst s)) (snd (fst s))) (stakes st) in
    let of_nodes := map (fun n => (n, counted counts st n)) (ids nodes) in
    Z.leb (zsum of_nodes (fun e => fst (snd e))) b ||
    match m, part_of with
    | None, Some part_of =>
        match most_in_parts P (attribute_weights t) part_of (every p) (map (at_stake st) of_nodes) (map (fun s => (fst (fst s), snd s)) chosen) with Some most => Z.leb most b | None => false end
    | _, _ => false
    end ||
    match most_worth P (attribute_weights t) m p (map snd chosen) with
    | Some most => Z.ltb (zsum of_nodes (fun e => snd (snd e)) * ONE + most) ((b + 1) * (ONE * ONE))
    | None => false
    end.
End Lines.

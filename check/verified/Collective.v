(* One attack for the whole graph: what share lines say of flips, and what they add up to. Definitions only; (1) to (4) are the formulas of
   FORMAT-COLLECTIVE.md. *)
From Coq Require Import ZArith List Bool FMapPositive.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees.
Import ListNotations.
Open Scope Z_scope.

(* Shares are integers in units of 2^-24. *)
Definition ONE : Z := 16777216.

(* The sizes of flips, by their weights. *)
Record sizes := { least : Z; few : Z; more : Z }.
Definition size_of (s : sizes) (w : Z) : Z := if Z.leb w 0 then 0 else if Z.leb (least s) w then Z.max (few s) (more s) else more s.

(* What a share line adds to the worth of a flip (3). *)
Record stake := { by_weight : Z; by_size : Z; grades : sizes }.
Definition worth_of (s : stake) (w : Z) : Z := by_weight s * w + by_size s * size_of (grades s) w.

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
    sift (fun square => let norm := root square in Z.leb (zsum paces (fun e => worth_of (fst e) (weight_within (snd e) norm))) price)
      by_attribute
      (fun d ws =>
        if free P n d && negb (Z.leb (zsum opened (fun e => worth_of (fst e) (weight_roughly (snd e) d))) price)
        then zsum opened (fun e => worth_of (fst e) (weight_of (snd e) d ws)) - price else 0).

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
End Worth.

(* A problem with fewer flips. *)
Definition limited (P : problem) (k : Z) : problem :=
  {| attributes := attributes P; count := count P; permitted := permitted P; total := Z.min k (total P); each := each P |}.

(* The sizes (2): no k - 1 flips have weights of ONE, as prices show. Which k and prices are stated is of no importance. *)
Definition grade (P : problem) (by_attribute : list (Z * (list (list Z) * Z))) (rows : reached) (k : Z) (p : prices) : option sizes :=
  let room := Z.min (total P) (zsum rows (fun r => pos (left P (fst r)))) in
  match most_worth (limited P (k - 1)) by_attribute None p [({| by_weight := 1; by_size := 0; grades := {| least := 0; few := 0; more := 0 |} |}, rows)] with
  | Some T =>
      if Z.leb 1 k && Z.ltb T ONE
      then Some {| least := ONE - T; few := if Z.leb k room then upward ONE k else 0; more := if Z.leb (k + 1) room then upward ONE (k + 1) else 0 |}
      else None
  | None => None
  end.

Record tools := {
  for_nodes : prepared;
  linear_of : bounds -> hints -> objective -> result (Z * list (Z * (unit -> losing)));
  attribute_weights : list (Z * (list (list Z) * Z)) }.

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
                linear_of := fun whole h => linear P no_signs whole made l2 h rows width net classes; attribute_weights := rows |}
      else None
  | None => None
  end.

Record share_line := {
  owner : Z; reference : Z; of_weight : Z; of_size : Z; leaves : list (Z * (Z * hints)); stated_count : Z; stated_prices : prices }.

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

  Definition stake_of (whole : bounds) (l : share_line) : option (stake * reached) :=
    if Z.leb 0 (of_weight l) && Z.leb 0 (of_size l) && Z.leb (of_weight l + of_size l) ONE && is_predicted p (owner l) (reference l) then
      match rows_of whole l with
      | Some rows =>
          let with_sizes s := ({| by_weight := of_weight l; by_size := of_size l; grades := s |}, rows) in
          if Z.eqb (of_size l) 0 then Some (with_sizes {| least := 0; few := 0; more := 0 |})
          else option_map with_sizes (grade P (attribute_weights t) rows (stated_count l) (stated_prices l))
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
        | Some s => enter st (owner l) (IsShared (reference l) (of_weight l + of_size l)) [((owner l, reference l), s)]
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

  Definition claim_holds (st : state) (m : option Z) (nodes : Z) (counts : Z -> Z -> bool) (b : Z) (p : prices) : bool :=
    let of_nodes := map (counted counts st) (ids nodes) in
    Z.leb (zsum of_nodes fst) b ||
    match most_worth P (attribute_weights t) m p (map snd (filter (fun s => counts (fst (fst s)) (snd (fst s))) (stakes st))) with
    | Some most => Z.ltb (zsum of_nodes snd * ONE + most) ((b + 1) * (ONE * ONE))
    | None => false
    end.
End Lines.

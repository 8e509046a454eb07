(* The steps of the checker for one unit and one layer: definitions only. Nothing in hints has to be right. *)
From Coq Require Import ZArith List Bool.
From Verified Require Import Spec Sums Tables Rules Integers.
Import ListNotations.
Open Scope Z_scope.

(* What became of a step: a result; or no perturbation takes the path; or nothing follows. *)
Inductive result (A : Type) := Got (a : A) | Impossible | Failed.
Arguments Got {A}. Arguments Impossible {A}. Arguments Failed {A}.
Definition bind {A B} (r : result A) (f : A -> result B) : result B :=
  match r with Got a => f a | Impossible => Impossible | Failed => Failed end.

Fixpoint each_one {A B} (f : A -> result B) (l : list A) : result (list B) :=
  match l with
  | [] => Got []
  | a :: rest => bind (f a) (fun b => bind (each_one f rest) (fun bs => Got (b :: bs)))
  end.

(* The network, evaluated layer by layer: for nodes, the pre-activations of units 0 ... width-1. *)
Definition messages (t : term Z) (width : Z) (values : Z -> list (Z * Z)) (n : Z) : list Z :=
  let here := values n in map (fun j => zsum here (fun p => snd p * weight t (fst p) j)) (ids width).

Definition receive (width : Z) (l : layer Z) (sent : list (term Z * table (list Z))) (m : Z) : list Z :=
  fold_left (fun acc tm => fold_left (fun acc e => vadd acc (vscale (snd e) (get (snd tm) (fst e)))) (operator (fst tm) m) acc)
    sent (map (bias l m) (ids width)).

(* The nodes that given nodes read from in some terms, each once: there are far more paths than nodes. *)
Definition sources (ts : list (term Z)) (wanted : list Z) : list Z :=
  map fst (group (flat_map (fun t => flat_map (fun m => operator t m) wanted) ts)).

(* What rows of 0/1 attributes send: of so many attributes, those that a node has. *)
Definition plain_rows (X : Z -> Z -> bool) (size n : Z) : list (Z * Z) := map (fun d => (d, 1)) (filter (X n) (ids size)).

(* What the terms of the first layer send; after flips, only rows that have some are read again. *)
Definition sent_from (first : layer Z) (width : Z) (read : Z -> Z -> list (Z * Z)) : list (term Z * table (list Z)) :=
  map (fun t => (t, tabulate (messages t width (read (inputs first))))) (terms first).
Definition sent_after (F : list flip) (first : layer Z) (width : Z) (read : Z -> Z -> list (Z * Z)) (sent : list (term Z * table (list Z)))
  : list (term Z * table (list Z)) :=
  map (fun tm => (fst tm, tabulate (fun n =>
    if existsb (fun f => Z.eqb (fst f) n) F then messages (fst tm) width (read (inputs first)) n else get (snd tm) n))) sent.

Fixpoint zforward (net : network Z) (sent : list (term Z * table (list Z))) (width : Z) : table (list Z) :=
  match net with
  | [] => tabulate (fun _ => [])
  | l :: below =>
      match below with
      | [] => tabulate (receive width l sent)
      | _ =>
          let inner := zforward below sent (inputs l) in
          let values n := filter (fun p => negb (Z.eqb (snd p) 0)) (map (fun p => (fst p, zpassed below (fst p) (snd p))) (combine (ids (inputs l)) (get inner n))) in
          let passed := map (fun t => (t, tabulate (messages t width values))) (terms l) in
          tabulate (receive width l passed)
      end
  end.

(* The first layer and its width. *)
Fixpoint bottom (net : network Z) (top : Z) : option (layer Z * Z) :=
  match net with
  | [] => None
  | l :: below => match below with [] => Some (l, top) | _ => bottom below (inputs l) end
  end.

(* The first layer, made ready: of each unit and term the weights of all attributes, rising, and with their signs changed, rising. *)
Record column := { rising : list (Z * Z); turned : list (Z * Z) }.
Record ready := { number : Z; source : term Z; columns : table (option column) }.

Fixpoint rises (l : list (Z * Z)) : bool :=
  match l with a :: ((b :: _) as rest) => Z.leb (fst a) (fst b) && rises rest | _ => true end.

Definition column_over (t : term Z) (over : list Z) (j : Z) : option column :=
  let up := sort (map (fun d => (weight t d j, d)) over) in
  let down := rev_append (map (fun p => (- fst p, snd p)) up) [] in
  if rises up && rises down then Some {| rising := up; turned := down |} else None.
Definition column_of (t : term Z) (size : Z) : Z -> option column := column_over t (ids size).

Definition make_ready (size width : Z) (t : Z * term Z) : ready :=
  {| number := fst t; source := snd t; columns := tabulate (column_of (snd t) size) |}.
Definition numbered (l : layer Z) : list (Z * term Z) := combine (ids (Z.of_nat (length (terms l)))) (terms l).
Definition all_ready (size width : Z) (l : layer Z) : list ready := map (make_ready size width) (numbered l).

(* Of each attribute its weights, term by term, and the largest sum of their squares from it on; that falls, and slowly if they are sorted by it. *)
Definition squares (l : list (list Z)) : Z := zsum l (fun ws => zsum ws (fun w => w * w)).
Definition first_square (rows : list (Z * (list (list Z) * Z))) : Z := match rows with r :: _ => snd (snd r) | [] => 0 end.
Fixpoint falling (rows : list (Z * list (list Z))) : list (Z * (list (list Z) * Z)) :=
  match rows with
  | [] => []
  | (d, ws) :: rest => let below := falling rest in (d, (ws, Z.max (squares ws) (first_square below))) :: below
  end.
Definition attribute_rows (size width : Z) (l : layer Z) : list (Z * (list (list Z) * Z)) :=
  falling (map snd (sort (map (fun d => let ws := map (fun t => map (weight (snd t) d) (ids width)) (numbered l) in (- squares ws, (d, ws))) (ids size)))).

(* Amounts of attributes, up to those whose squares suffice to stop; their sum, up to those whose squares are within a limit. *)
Fixpoint sift (stop : Z -> bool) (rows : list (Z * (list (list Z) * Z))) (f : Z -> list (list Z) -> Z) : list Z :=
  match rows with
  | [] => []
  | (d, (ws, square)) :: rest => if stop square then [] else f d ws :: sift stop rest f
  end.
Definition scan (steep within : Z) (rows : list (Z * (list (list Z) * Z))) (f : Z -> list (list Z) -> Z) : Z :=
  if Z.leb steep 0 then 0
  else let limit := within / steep in zsum (sift (fun square => Z.leb square limit) rows f) (fun x => x).

(* The entries of a node's row, those of the same sender together: what passes along them is added up. *)
Definition links (l : list ready) (m : Z) : list (Z * list (ready * Z)) :=
  group (flat_map (fun t => map (fun e => (fst e, (t, snd e))) (operator (source t) m)) l).

(* Hints. *)
Record offer := { common : prices; own : list (flip * Z) }.
Inductive form := Level (level : Z) (p : prices) | Envelope (up down : offer).
Record bend := { share : Z; shape : form }.
Record level := { limit : Z; toll : prices }.
Record hints := {
  slope : Z -> Z -> Z -> Z;              (* by layer, node and unit, above layer 2 *)
  line : Z -> Z -> Z * Z;                (* rise and fall, by node and unit of layer 2 *)
  reach : Z -> Z -> option (prices * prices); (* by node and unit of layer 2; without any, the best are chosen *)
  bends : Z -> Z -> list bend;
  one : Z;                               (* what slopes of supports, and weights of bends of layer 3, are multiples of *)
  support : Z -> Z -> option (Z * level); (* slope of the lower line and level of the upper one, by node and unit of layer 2 *)
  nested : Z -> Z -> list (Z * level);   (* weights and levels of bends, by node and unit of layer 3 *)
  price : prices }.

(* Rule 1 for what flips change in a unit, times s = 1 or -1, each up to a cap if there is one. *)
Section Select.
  Variables (P : problem) (s : Z) (cap : option Z).

  Definition capped (x : Z) : Z := match cap with Some c => Z.min x c | None => x end.
  Definition weights (grp : list (ready * Z)) (j d : Z) : Z := zsum grp (fun e => snd e * weight (source (fst e)) d j).

  Fixpoint walk (n b price : Z) (present : bool) (l : list (Z * Z)) : Z :=
    match l with
    | [] => 0
    | (w, d) :: rest =>
        let x := b * w in
        if Z.leb x price then 0
        else (if Bool.eqb (attributes P n d) present && free P n d then pos (capped x - price) else 0) + walk n b price present rest
    end.
  Definition walk_signed (n b price : Z) (present : bool) (c : column) : Z :=
    if Z.leb b 0 then walk n b price present (rising c) else walk n (- b) price present (turned c).

  Definition above (j : Z) (p : prices) (row : Z * list (ready * Z)) : Z :=
    let (n, grp) := row in
    if Z.leb (left P n) 0 then 0
    else
      let price := price_of p n in
      let all := excess P (fun d => capped (pos (s * (change (attributes P) n d * weights grp j d)))) n in
      match grp with
      | [(t, a)] =>
          match get (columns t) j with
          | Some c => walk_signed n (s * a) price false c + walk_signed n (- (s * a)) price true c
          | None => all price
          end
      | _ => all price
      end.

  Definition select (rows : list (Z * list (ready * Z))) (j : Z) (p : prices) : result Z :=
    if not_negative p then Got (paid P p + zsum rows (above j p)) else Failed.
End Select.

(* Ranges are needed of all units and nodes, at best prices and without caps. Attributes that rows have are few: of each row there are columns of these alone, by the numbers of terms. *)
Section Here.
  Variables (P : problem) (s : Z) (here : Z -> list (Z * table (option column))).

  Definition column_here (n q j : Z) : option column :=
    match List.find (fun e => Z.eqb (fst e) q) (here n) with Some e => get (snd e) j | None => None end.
  Definition above_here (j : Z) (p : prices) (row : Z * list (ready * Z)) : Z :=
    let (n, grp) := row in
    if Z.leb (left P n) 0 then 0
    else
      match grp with
      | [(t, a)] =>
          match get (columns t) j, column_here n (number t) j with
          | Some c, Some own => let price := price_of p n in
              walk_signed P None n (s * a) price false c + walk_signed P None n (- (s * a)) price true own
          | _, _ => above P s None j p row
          end
      | _ => above P s None j p row
      end.
  Definition select_here (rows : list (Z * list (ready * Z))) (j : Z) (p : prices) : result Z :=
    if not_negative p then Got (paid P p + zsum rows (above_here j p)) else Failed.

  (* The best prices: of every flip the last of as many changes as may be made, and of a row's flips by how much the last of its
     own is above that. Nothing rests on their being the best. Changes, with their signs changed, rise; those that are not above a floor are left out. *)
  Fixpoint first_of (most : nat) (l : list (Z * unit)) : list (Z * unit) :=
    match most, l with S more, a :: rest => a :: first_of more rest | _, _ => [] end.
  Definition last_of (most : Z) (l : list (Z * unit)) : Z :=
    if Z.ltb (Z.of_nat (length l)) most then 0 else match rev_append l [] with a :: _ => pos (- fst a) | [] => 0 end.

  Fixpoint largest_in (most : nat) (n b floor : Z) (present : bool) (l : list (Z * Z)) : list (Z * unit) :=
    match most, l with
    | S more, (w, d) :: rest =>
        let x := b * w in
        if Z.leb x floor then []
        else if Bool.eqb (attributes P n d) present && free P n d then (- x, tt) :: largest_in more n b floor present rest
        else largest_in most n b floor present rest
    | _, _ => []
    end.
  Definition largest_signed (most : nat) (n b floor : Z) (present : bool) (c : column) : list (Z * unit) :=
    if Z.leb b 0 then largest_in most n b floor present (rising c) else largest_in most n (- b) floor present (turned c).
  Definition all_changes (n : Z) (grp : list (ready * Z)) (j floor : Z) : list (Z * unit) :=
    sort (flat_map (fun d =>
      let x := s * (change (attributes P) n d * weights grp j d) in if Z.ltb floor x && free P n d then [(- x, tt)] else []) (ids (count P))).
  Definition largest_of (j floor : Z) (row : Z * list (ready * Z)) : list (Z * unit) :=
    let (n, grp) := row in
    if Z.leb (left P n) 0 then []
    else
      let most := Z.to_nat (Z.min (left P n) (count P)) in
      first_of most match grp with
        | [(t, a)] =>
            match get (columns t) j, column_here n (number t) j with
            | Some c, Some own =>
                let added := largest_signed most n (s * a) floor false c in
                merge added (largest_signed most n (- (s * a)) (Z.max floor (last_of (left P n) added)) true own)
            | _, _ => all_changes n grp j floor
            end
        | _ => all_changes n grp j floor
        end.
  Definition best_prices (rows : list (Z * list (ready * Z))) (j : Z) : prices :=
    let more best row :=
      let both := merge best (largest_of j (last_of (total P) best) row) in
      if Z.ltb (total P) (Z.of_nat (length both)) then first_of (Z.to_nat (total P)) both else both in
    let floor := last_of (total P) (fold_left more rows []) in
    {| every := floor;
       nodes := flat_map (fun row =>
         if Z.leb (total P) (each P (fst row)) then []
         else
           let own := last_of (left P (fst row)) (largest_of j floor row) in
           if Z.ltb floor own then [(fst row, own - floor)] else []) rows |}.
End Here.

(* Bends of a unit, once z is known. *)
Inductive charge := Rising (level : Z) | Falling (level : Z) | Paying (up down : offer).
Record unit2 := { place : Z; rise : Z; fall : Z; bent : list (Z * charge) }.

Definition offered (o : offer) (f : flip) : Z :=
  price_of (common o) (fst f) + zsum (own o) (fun e => if same (fst e) f then snd e else 0).
Definition offers_paid (P : problem) (o : offer) : Z :=
  paid P (common o) + zsum (own o) (fun e => if free P (fst (fst e)) (snd (fst e)) then snd e else 0).
Definition sound_offer (o : offer) : bool := not_negative (common o) && forallb (fun e => Z.leb 0 (snd e)) (own o).

Definition charged (c : charge) (f : flip) (g : Z) : Z :=
  match c with
  | Rising t => Z.max (g - Z.min (pos g) t) 0
  | Falling t => Z.max g (- Z.min (pos (- g)) t)
  | Paying up down => Z.max (g - offered up f) (- offered down f)
  end.

(* What a flip that changes the unit by g loses. *)
Definition loss (u : unit2) (f : flip) (g : Z) : Z :=
  fall u * pos (- g) - rise u * pos g + zsum (bent u) (fun b => fst b * charged (snd b) f g).

Definition resolve (P : problem) (rows : list (Z * list (ready * Z))) (j z : Z) (b : bend) : result (Z * (Z * charge)) :=
  if Z.leb 0 (share b) then
    match shape b with
    | Level t p =>
        if Z.leb 0 t then
          if Z.ltb z 0
          then bind (select P 1 (Some t) rows j p) (fun s => Got (share b * Z.max (z + s) 0, (share b, Rising t)))
          else bind (select P (-1) (Some t) rows j p) (fun s => Got (share b * Z.max z s, (share b, Falling t)))
        else Failed
    | Envelope up down =>
        if sound_offer up && sound_offer down
        then Got (share b * Z.max (z + offers_paid P up) (offers_paid P down), (share b, Paying up down))
        else Failed
    end
  else Failed.

(* The most by which flips raise and lower a unit: at the prices stated, or as it is known. *)
Definition range_at (P : problem) (h : hints) (rows : list (Z * list (ready * Z))) (m j : Z) (known : result Z * result Z) : result Z * result Z :=
  match reach h m j with
  | Some (up, down) => (select P 1 None rows j up, select P (-1) None rows j down)
  | None => known
  end.

(* Rule 4 at layer 2: the constant of a unit, and its losses. *)
Definition unit_bound (P : problem) (h : hints) (first : layer Z) (rows : list (Z * list (ready * Z))) (side : option bool) (m j k z : Z)
  (range : result Z * result Z) : result (Z * unit2) :=
  if relu first j then
    bind (each_one (resolve P rows j z) (bends h m j)) (fun bs =>
    bind (fst range) (fun U =>
    bind (snd range) (fun V =>
      let (r, f) := line h m j in
      match least (k + zsum bs (fun b => fst (snd b))) z r f U V side with
      | Some base => Got (base - zsum bs fst, {| place := j; rise := r; fall := f; bent := map snd bs |})
      | None => Impossible
      end)))
  else Got (k * z, {| place := j; rise := k; fall := k; bent := [] |}).

(* What is known of layer 2 before any proof, and computed of a node when it is first asked for: the rows that it receives from, and of its units the
   pre-activations, and the most by which flips raise and lower them; and of an attribute its weights, rounded down to multiples of `grain`. *)
Record layer2 := {
  linked : Z -> list (Z * list (ready * Z)); at_rest : Z -> list Z; ranges : Z -> list (Z * (result Z * result Z));
  grain : Z; rough : Z -> list (list Z) }.
Record fixed := { joined : table (list (Z * list (ready * Z))); grained : Z; roughly : table (list (list Z)) }.
Definition fixed_of (first : layer Z) (width grain : Z) (made : list ready) : fixed :=
  let small := Z.max 1 grain in
  {| joined := tabulate (links made); grained := small;
     roughly := tabulate (fun d => map (fun t => map (fun j => weight (snd t) d j / small) (ids width)) (numbered first)) |}.
Definition columns_here (P : problem) (first : layer Z) (n : Z) : list (Z * table (option column)) :=
  let own := filter (attributes P n) (ids (count P)) in map (fun t => (fst t, tabulate (column_over (snd t) own))) (numbered first).
Definition layer2_of (P : problem) (first : layer Z) (width : Z) (known_fixed : fixed) (sent : list (term Z * table (list Z))) : layer2 :=
  let rest := tabulate (receive width first sent) in
  let here := tabulate (columns_here P first) in
  let range_of rows j s := select_here P s (get here) rows j (best_prices P s (get here) rows j) in
  let known := tabulate (fun n => let rows := get (joined known_fixed) n in
    map (fun p => (snd p, (range_of rows (fst p) 1, range_of rows (fst p) (-1)))) (combine (ids width) (get rest n))) in
  {| linked := get (joined known_fixed); at_rest := get rest; ranges := get known; grain := grained known_fixed; rough := get (roughly known_fixed) |}.

(* Objectives: for some nodes, coefficients of units 0, 1, ... *)
Definition objective := list (Z * list Z).

(* From coefficients of a layer to those of what it receives, and a constant. *)
Definition pull (l : layer Z) (width : Z) (o : objective) : Z * objective :=
  let constant := zsum o (fun e => against (ids width) (snd e) (bias l (fst e))) in
  let parts := flat_map (fun e => flat_map (fun t =>
      let back := map (fun i => against (ids width) (snd e) (weight t i)) (ids (inputs l)) in
      map (fun n => (fst n, vscale (snd n) back)) (operator t (fst e))) (terms l)) o in
  (constant, map (fun g => (fst g, fold_right vadd [] (snd g))) (group parts)).

(* Rule 4 above layer 2. *)
Fixpoint relax (l : layer Z) (s : Z -> Z) (units : list Z) (k : list Z) (b : list (Z * Z)) : result (Z * list Z) :=
  match units, k with
  | i :: units', k0 :: k' =>
      match b with
      | [] => Failed
      | (low, high) :: b' =>
          bind (relax l s units' k' b') (fun rest =>
            if relu l i then let s0 := s i in Got (intercept k0 s0 low high + fst rest, s0 :: snd rest)
            else Got (fst rest, k0 :: snd rest))
      end
  | _, _ => Got (0, [])
  end.

Definition layer_number (net : network Z) : Z := Z.of_nat (length net) + 1.

(* Rule 3: intervals of pre-activations. *)
Definition clip (side : option bool) (b : Z * Z) : Z * Z :=
  match side with
  | None => b
  | Some true => (Z.max (fst b) 0, snd b)
  | Some false => (fst b, Z.min (snd b) 0)
  end.

Fixpoint meet (a b : list (Z * Z)) : list (Z * Z) :=
  match a, b with
  | x :: a', y :: b' => (Z.max (fst x) (fst y), Z.min (snd x) (snd y)) :: meet a' b'
  | _, _ => a
  end.

Definition empty_interval (b : Z * Z) : bool := Z.ltb (snd b) (fst b).

Definition entries_of (l : layer Z) (m : Z) : list (Z * list (term Z * Z)) :=
  group (flat_map (fun t => map (fun e => (fst e, (t, snd e))) (operator t m)) (terms l)).

Definition activated (net : network Z) (i : Z) (b : Z * Z) : Z * Z := (zpassed net i (fst b), zpassed net i (snd b)).

Definition propagate (l : layer Z) (below : network Z) (known : Z -> list (Z * Z)) (width m : Z) : list (Z * Z) :=
  let rows := map (fun row => (snd row, map (fun p => (fst p, activated below (fst p) (snd p))) (combine (ids (inputs l)) (known (fst row))))) (entries_of l m) in
  map (fun j =>
    let parts := flat_map (fun row => map (fun p =>
        let w := zsum (fst row) (fun e => snd e * weight (fst e) (fst p) j) in
        if Z.ltb 0 w then (w * fst (snd p), w * snd (snd p)) else (w * snd (snd p), w * fst (snd p))) (snd row)) rows in
    (bias l m j + zsum parts fst, bias l m j + zsum parts snd)) (ids width).

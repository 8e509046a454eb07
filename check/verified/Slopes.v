(* The slopes of a row: what its flips lose, added up by term, and bounds of it by norms. Definitions only. *)
From Coq Require Import ZArith List Bool.
From Verified Require Import Spec Sums Tables Rules Integers Steps.
Import ListNotations.
Open Scope Z_scope.

Section Slopes.
  Variables (P : problem) (made_ready : list ready).

  (* Rule 6, plainly: what a flip loses, by the units that its node reaches. *)
  Definition row_loss (n : Z) (items : list (list unit2 * list (ready * Z))) (d : Z) : Z :=
    let v := change (attributes P) n d in
    zsum items (fun it => zsum (fst it) (fun u => loss u (n, d) (v * weights (snd it) (place u) d))).

  (* The same sooner: slopes of all units added up by term, and only units with bends or kinks one by one. *)
  Definition single (it : list unit2 * list (ready * Z)) : bool := match snd it with [] | [_] => true | _ => false end.
  Definition straight (alone : bool) (u : unit2) : bool := alone || Z.eqb (rise u) (fall u).
  Definition plain (alone : bool) (u : unit2) : Z * Z := if straight alone u then (rise u, fall u) else (0, 0).
  Definition most (alone : bool) (u : unit2) : Z * Z :=
    (rise u - zsum (bent u) fst, if straight alone u then fall u else Z.max (rise u) (fall u)).
  Definition turn (a : Z) (p : Z * Z) : Z * Z := if Z.ltb 0 a then (a * fst p, a * snd p) else (a * snd p, a * fst p).

  Fixpoint padd (a b : list (Z * Z)) : list (Z * Z) :=
    match a, b with
    | [], _ => b
    | _, [] => a
    | x :: a', y :: b' => (fst x + fst y, snd x + snd y) :: padd a' b'
    end.

  Definition contributions (s : bool -> unit2 -> Z * Z) (it : list unit2 * list (ready * Z)) : list (Z * list (Z * Z)) :=
    let own := map (s (single it)) (fst it) in map (fun e => (number (fst e), map (turn (snd e)) own)) (snd it).
  Definition slopes_of (parts : list (Z * list (Z * Z))) (q : Z) : list (Z * Z) :=
    fold_right (fun c rest => if Z.eqb (fst c) q then padd (snd c) rest else rest) [] parts.
  Definition all_slopes (s : bool -> unit2 -> Z * Z) (items : list (list unit2 * list (ready * Z))) : list (list (Z * Z)) :=
    let parts := flat_map (contributions s) items in map (fun t => slopes_of parts (number t)) made_ready.

  Fixpoint product (present : bool) (s : list (Z * Z)) (ws : list Z) : Z :=
    match s, ws with
    | p :: s', w :: ws' =>
        (if Z.ltb 0 w then (if present then snd p * w else - (fst p * w)) else (if present then fst p * w else - (snd p * w))) + product present s' ws'
    | _, _ => 0
    end.
  Definition products (present : bool) (s : list (list (Z * Z))) (ws : list (list Z)) : Z :=
    zsum (combine s ws) (fun p => product present (fst p) (snd p)).

  Definition special (alone : bool) (u : unit2) : bool := negb (straight alone u) || match bent u with [] => false | _ => true end.
  Definition special_loss (alone : bool) (u : unit2) (f : flip) (g : Z) : Z :=
    (if straight alone u then 0 else fall u * pos (- g) - rise u * pos g) + zsum (bent u) (fun b => fst b * charged (snd b) f g).
  Definition specials (items : list (list unit2 * list (ready * Z))) : list (bool * (list unit2 * list (ready * Z))) :=
    filter (fun it => match fst (snd it) with [] => false | _ => true end)
      (map (fun it => (single it, (filter (special (single it)) (fst it), snd it))) items).
  Definition extra (sp : list (bool * (list unit2 * list (ready * Z)))) (n d : Z) : Z :=
    let v := change (attributes P) n d in
    zsum sp (fun it => zsum (fst (snd it)) (fun u => special_loss (fst it) u (n, d) (v * weights (snd (snd it)) (place u) d))).

  (* Products bounded from above in small numbers: slopes and weights as multiples of a step, rounded so that no product becomes less. *)
  Definition upward (x c : Z) : Z := - ((- x) / c).
  Fixpoint rough_product (s : list (Z * Z)) (fs : list Z) : Z :=
    match s, fs with
    | p :: s', f :: fs' => (if Z.leb 0 f then fst p * f + Z.max (fst p) 0 else Z.max (- snd p) 0 - snd p * f) + rough_product s' fs'
    | _, _ => 0
    end.
  Record screen := { of_absent : list (list (Z * Z)); of_present : list (list (Z * Z)); step : Z }.
  Definition small (largest : Z) : Z := Z.max 1 (largest / 67108864).
  Definition screen_of (grain : Z) (s : list (list (Z * Z))) : screen :=
    let g := small (fold_left (fun m l => fold_left (fun m p => Z.max m (Z.max (Z.max (fst p) (- fst p)) (Z.max (snd p) (- snd p)))) l m) s 0) in
    let up := map (map (fun p => (upward (- fst p) g, upward (snd p) g))) s in
    {| of_absent := up; of_present := map (map (fun p => (snd p, fst p))) up; step := g * grain |}.
  (* It is made when it is first asked for. *)
  Definition rough_bound (sc : delayed screen) (present : bool) (fs : list (list Z)) : Z :=
    step (force sc) * zsum (combine (if present then of_present (force sc) else of_absent (force sc)) fs) (fun q => rough_product (fst q) (snd q)).
  Definition ruled_out (sc : delayed screen) (present : bool) (fs : list (list Z)) (p : Z) : bool := Z.leb (rough_bound sc present fs) p.

  Definition steepest (s : list (list (Z * Z))) : Z :=
    zsum s (fun l => zsum l (fun p => let x := Z.max (Z.max (- fst p) (snd p)) 0 in x * x)).

  (* Rule 1 for amounts of a row of which none is above what the items lose: attributes are ruled out by norms, then by slopes. *)
  Variables (rows_of_weights : list (Z * (list (list Z) * Z))) (grain : Z) (rough : Z -> list (list Z)).

  Definition sifted (n p : Z) (items : list (list unit2 * list (ready * Z))) (amount : Z -> list (list Z) -> Z) : Z :=
    if Z.leb (left P n) 0 then 0
    else
      let s := all_slopes most items in
      let sc := Delay (screen_of grain s) in
      scan (steepest s) (p * p) rows_of_weights (fun d ws =>
        if free P n d && negb (ruled_out sc (attributes P n d) (rough d) p || Z.leb (products (attributes P n d) s ws) p) then pos (amount d ws - p) else 0).

  Fixpoint aligned (units : list unit2) (places : list Z) : bool :=
    match units, places with
    | [], [] => true
    | u :: units', j :: places' => Z.eqb (place u) j && aligned units' places'
    | _, _ => false
    end.
End Slopes.

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

  Definition steepest (s : list (list (Z * Z))) : Z :=
    zsum s (fun l => zsum l (fun p => let x := Z.max (Z.max (- fst p) (snd p)) 0 in x * x)).

  (* Rule 1 for amounts of a row of which none is above what the items lose: attributes are ruled out by norms, then by slopes. *)
  Variable rows_of_weights : list (Z * (list (list Z) * Z)).

  Definition sifted (n p : Z) (items : list (list unit2 * list (ready * Z))) (amount : Z -> list (list Z) -> Z) : Z :=
    if Z.leb (left P n) 0 then 0
    else
      let s := all_slopes most items in
      let steep := steepest s in
      let within := p * p in
      scan steep within rows_of_weights (fun d ws =>
        if free P n d && negb (Z.leb (products (attributes P n d) s ws) p) then pos (amount d ws - p) else 0).

  Fixpoint aligned (units : list unit2) (places : list Z) : bool :=
    match units, places with
    | [], [] => true
    | u :: units', j :: places' => Z.eqb (place u) j && aligned units' places'
    | _, _ => false
    end.
End Slopes.

(* Rule 5': bends of units of layer 3, over bounds of them that are affine in the flips. Definitions only.
   All bounds of layer 3 are times `one`, so that slopes between 0 and 1 are integers. *)
From Coq Require Import ZArith List Bool.
From Verified Require Import Spec Sums Tables Rules Integers Steps Slopes.
Import ListNotations.
Open Scope Z_scope.

(* What a unit of layer 2 passes on: at most `upper` and the changes by a charge (without one, the unit is linear), at least `lower` and
   the changes times `tilt`. *)
Record held := { spot : Z; upper : Z; lower : Z; curve : option charge; tilt : Z }.
(* A bend of a unit of layer 3: over senders, with the weights of their units. *)
Record joint := { part : Z; kind : charge; over : list (Z * list Z) }.
Record nest := { senders : list Z; ground : Z -> list held; joints : list joint }.
Definition no_nest : nest := {| senders := []; ground := fun _ => []; joints := [] |}.

(* The nodes that reach some nodes of layer 2: which of these, and by which entries. *)
Definition surroundings (linked : Z -> list (Z * list (ready * Z))) (nodes : list Z) : list (Z * list (Z * list (ready * Z))) :=
  group (flat_map (fun n => map (fun r => (fst r, (n, snd r))) (linked n)) nodes).
Definition rising_ids (l : list Z) : bool := ascending (map (fun n => (n, tt)) l).
Definition sound_surroundings (linked : Z -> list (Z * list (ready * Z))) (nodes : list Z) (around : list (Z * list (Z * list (ready * Z)))) : bool :=
  rising_ids nodes && forallb (fun n => ascending (linked n)) nodes && ascending around.
Definition at_row {A} (around : list (Z * list A)) (n : Z) : list A :=
  match List.find (fun r => Z.eqb (fst r) n) around with Some r => snd r | None => [] end.

(* Weights above 0 take upper bounds, the others lower ones. *)
Fixpoint mix (ws : list Z) (both : list (Z * Z)) : Z :=
  match ws, both with
  | w :: ws', b :: both' => (if Z.ltb 0 w then w * fst b else w * snd b) + mix ws' both'
  | _, _ => 0
  end.

Section Nested.
  Variables (P : problem) (made_ready : list ready) (l2 : layer2) (h : hints) (rows_of_weights : list (Z * (list (list Z) * Z))).

  Definition moved (u : held) (f : flip) (g : Z) : Z * Z :=
    (one h * match curve u with Some c => charged c f g | None => g end, tilt u * g).

  Definition hold (first : layer Z) (rows : list (Z * list (ready * Z))) (n i z : Z) : result held :=
    if relu first i then
      match support h n i with
      | Some (omega, l) =>
          if Z.leb 0 omega && Z.leb omega (one h) then
            bind (resolve P rows i z {| share := one h; shape := Level (limit l) (toll l) |}) (fun r =>
              Got {| spot := i; upper := fst r; lower := omega * z; curve := Some (snd (snd r)); tilt := omega |})
          else Failed
      | None => Got {| spot := i; upper := one h * pos z; lower := 0; curve := Some (Rising 0); tilt := 0 |}
      end
    else Got {| spot := i; upper := one h * z; lower := one h * z; curve := None; tilt := one h |}.

  Definition hold_node (first : layer Z) (width n : Z) : result (Z * list held) :=
    let rows := linked l2 n in
    if ascending rows
    then bind (each_one (fun p => hold first rows n (fst p) (snd p)) (combine (ids width) (at_rest l2 n))) (fun us => Got (n, us))
    else Failed.

  Section Ground.
    Variable ground : Z -> list held.

    (* What a flip of a row changes at layer 2, node by node; and in a bound of layer 3. *)
    Definition moves (items : list (Z * list (ready * Z))) (n d : Z) : list (Z * list (Z * Z)) :=
      let v := change (attributes P) n d in
      map (fun it => (fst it, map (fun u => moved u (n, d) (v * weights (snd it) (spot u) d)) (ground (fst it)))) items.
    Definition combined (parts : list (Z * list Z)) (ms : list (Z * list (Z * Z))) : Z :=
      zsum ms (fun it => zsum parts (fun r => if Z.eqb (fst r) (fst it) then mix (snd r) (snd it) else 0)).

    (* Lines of layer 2 by which no flip changes the bound of a bend more towards zero. *)
    Definition lean (k : charge) (w : Z) (u : held) : Z * Z :=
      match k with
      | Falling _ =>
          if Z.ltb 0 w then match curve u with Some (Rising _) => (0, 0) | _ => (w * one h, w * one h) end
          else (w * tilt u, w * tilt u)
      | _ =>
          if Z.ltb 0 w then (- (w * one h), match curve u with Some _ => 0 | None => - (w * one h) end)
          else (- (w * tilt u), - (w * tilt u))
      end.
    Definition leaning (k : charge) (parts : list (Z * list Z)) : list (Z * list unit2) :=
      map (fun r => (fst r, map (fun p => let s := lean k (fst p) (snd p) in
        {| place := spot (snd p); rise := fst s; fall := snd s; bent := [] |}) (combine (snd r) (ground (fst r))))) parts.
    Definition lined (lines : list (Z * list unit2)) (items : list (Z * list (ready * Z))) : list (list unit2 * list (ready * Z)) :=
      flat_map (fun it => map (fun r => (snd r, snd it)) (filter (fun r => Z.eqb (fst r) (fst it)) lines)) items.

    (* Rule 1 for what flips pay towards a bend. *)
    Definition tolls (k : charge) (parts : list (Z * list Z)) (near : list (Z * list (Z * list (ready * Z)))) (l : level) : Z :=
      let lines := leaning k parts in
      let towards x := match k with Falling _ => - x | _ => x end in
      paid P (toll l) + zsum near (fun row =>
        let p := price_of (toll l) (fst row) in
        if Z.leb (limit l) p then 0
        else sifted P made_ready rows_of_weights (grain l2) (rough l2) (fst row) p (lined lines (snd row))
          (fun d _ => Z.min (towards (combined parts (moves (snd row) (fst row) d))) (limit l))).

    Definition into (second : layer Z) (m j : Z) : list (Z * list Z) :=
      map (fun r => (fst r, map (fun i => zsum (snd r) (fun e => snd e * weight (fst e) i j)) (ids (inputs second)))) (entries_of second m).
    Definition base (second : layer Z) (m j : Z) (parts : list (Z * list Z)) : Z :=
      one h * bias second m j + zsum parts (fun r => mix (snd r) (map (fun u => (upper u, lower u)) (ground (fst r)))).

    Fixpoint spots (us : list held) (places : list Z) : bool :=
      match us, places with
      | [], [] => true
      | u :: us', i :: places' => Z.eqb (spot u) i && spots us' places'
      | _, _ => false
      end.

    Definition join (second : layer Z) (near : list (Z * list (Z * list (ready * Z)))) (m j : Z) (b : Z * level) : result (Z * joint) :=
      let (c, l) := b in
      if Z.leb 0 c && Z.leb 0 (limit l) && not_negative (toll l) then
        let parts := into second m j in
        let B := base second m j parts in
        let k := if Z.ltb B 0 then Rising (limit l) else Falling (limit l) in
        let S := tolls k parts near l in
        Got (c * (if Z.ltb B 0 then Z.max (B + S) 0 else Z.max B S), {| part := c; kind := k; over := parts |})
      else Failed.

    Definition has_nested (width m : Z) : bool := existsb (fun j => match nested h m j with [] => false | _ => true end) (ids width).

    (* A node of layer 3 with its coefficients: what its bends cost, the coefficients that remain, the bends. *)
    Definition bend_node (second : layer Z) (width : Z) (e : Z * list Z) : result (Z * ((Z * list Z) * list joint)) :=
      let m := fst e in
      if has_nested width m then
        let nodes := map fst (entries_of second m) in
        let near := surroundings (linked l2) nodes in
        if sound_surroundings (linked l2) nodes near && forallb (fun n => spots (ground n) (ids (inputs second))) nodes then
          bind (each_one (fun j => if relu second j then each_one (join second near m j) (nested h m j) else Got []) (ids width)) (fun js =>
            Got (zsum js (fun l => zsum l fst),
                 ((m, vadd (snd e) (map (fun l => one h * zsum l (fun j => part (snd j))) js)), flat_map (map snd) js)))
        else Failed
      else Got (0, (e, [])).

    (* The most that a row's flips lose by bends, as slopes of layer 2. *)
    Definition shade (c : Z) (p : Z * held) : Z * Z :=
      if Z.ltb 0 (fst p) then (- (c * (fst p * one h)), 0) else (0, - (c * (fst p * tilt (snd p)))).
    Definition shades (js : list joint) : list (Z * list (Z * Z)) :=
      flat_map (fun b => map (fun r => (fst r, map (shade (part b)) (combine (snd r) (ground (fst r))))) (over b)) js.
    Definition shaded (width : Z) (parts : list (Z * list (Z * Z))) (n : Z) : list unit2 :=
      map (fun p => {| place := fst p; rise := fst (snd p); fall := snd (snd p); bent := [] |})
        (combine (ids width) (padd (map (fun _ => (0, 0)) (ids width)) (slopes_of parts n))).

    (* What a flip of a row loses by bends. *)
    Definition joint_loss (js : list joint) (items : list (Z * list (ready * Z))) (n d : Z) : Z :=
      let ms := moves items n d in zsum js (fun b => part b * charged (kind b) (n, d) (combined (over b) ms)).
  End Ground.

  (* The bends of the layer on top of `below`, if that is layer 3. *)
  Definition nest_above (width2 : Z) (below : network Z) (width : Z) (k : objective) : result (Z * (objective * nest)) :=
    match below with
    | [second; first] =>
        match filter (has_nested width) (map fst k) with
        | [] => Got (0, (k, no_nest))
        | bending =>
            let nodes := map fst (group (flat_map (entries_of second) bending)) in
            if Z.leb 0 (one h) && Z.eqb (inputs second) width2 then
              bind (each_one (hold_node first (inputs second)) nodes) (fun known =>
                let ground := get (tabulate (at_row known)) in
                bind (each_one (bend_node ground second width) k) (fun all =>
                  Got (zsum all fst, (map (fun a => fst (snd a)) all,
                    {| senders := nodes; ground := ground; joints := flat_map (fun a => snd (snd a)) all |}))))
            else Failed
        end
    | _ => Got (0, (k, no_nest))
    end.
End Nested.

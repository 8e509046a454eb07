(* The network as it runs, on attributes that are moved within ranges: bounds of the errors, and the judgement of a node. Definitions only. *)
From Coq Require Import ZArith List Bool.
From Verified Require Import Spec Sums Tables Rules Integers Steps Checker Trees Ranges Arranged Deployed.
Import ListNotations.
Open Scope Z_scope.

(* Intervals of the units below the last layer, which the checker of the exact network has. *)
Definition known_within (below : network Z) (known : list (table (list (Z * Z)))) (net : network Z) (width n : Z) : option (list (Z * Z)) :=
  if Nat.leb (length net) (length below) then
    match nth_error known (length below - length net) with
    | Some t => let b := get t n in if Nat.eqb (length b) (length (ids width)) then Some b else None
    | None => None
    end
  else None.

Section Magnitudes.
  Variables (P : problem) (V : zrows) (moves : spans).

  Definition size_of_span (b : Z * Z) : Z := Z.max (Z.abs (fst b)) (Z.abs (snd b)).
  Definition sizes_moved : spans := fun n d => (0, size_of_span (moves n d)).
  Definition sizes_unmoved : zrows := fun n d => Z.abs (V n d).
  Definition largest_entry (n : Z) : Z :=
    greatest (ids (count P)) 0 (fun d => if permitted P n d then Z.max (Z.abs (V n d)) (size_of_span (moves n d)) else Z.abs (V n d)).

  (* What terms that read the rows add up without signs is at most minus a lower bound of minus it. *)
  Definition magnitudes_within (l : stage Z) (width m : Z) : option (list (Z * Z)) :=
    let least j := lower P sizes_moved (unmoved sizes_unmoved) no_signs no_lines (absolute (count P) l) [] width (one_unit width m j (-1)) in
    match each_one (fun j => bind (least j) (fun b => Got (0, - b))) (ids width) with Got l => Some l | _ => None end.

  (* Which entries are not 0, and how many more may become so. *)
  Definition not_0 : problem :=
    {| attributes := fun n d => negb (Z.eqb (V n d) 0); count := count P; permitted := permitted P; total := total P; each := each P |}.
End Magnitudes.

Record deployed_ranges := { arithmetic_moved : arithmetic; nodes_moved : Z; exactly_moved : ranges_prepared; errors_moved : table summing }.

Definition first_moved (A : arithmetic) (base : Z) (P : problem) (V : zrows) (moves : spans) (of_node : table (list Z)) (may_get largest : table Z)
    (k : nat) (l : stage Z) : Z -> Z -> Z -> option received :=
  receive_first A base (not_0 P V) of_node may_get
    (fun m => greatest (steps l) (2 ^ base) (fun t => greatest (operator t m) 0 (fun e => get largest (fst e)))) (magnitudes_within P V moves l) false l.
Definition prepare_deployed_ranges (A : arithmetic) (base nodes : Z) (z : network Z) (s : shifts) (classes : Z) (N : running) (P : problem) (V : zrows)
    (moves : spans) : option deployed_ranges :=
  if sane A base s && fits_chain nodes (count P) classes z s N then
    match z, prepare_ranges z classes P V moves with
    | _ :: below, Some p =>
        let first_row := first_moved A base P V moves (present (attributes (not_0 P V)) (count P)) (may_get (not_0 P V) (count P)) (tabulate (largest_entry P V moves)) in
        Some {| arithmetic_moved := A; nodes_moved := nodes; exactly_moved := p;
                errors_moved := last_sums A base z s classes (known_within below (known_units p)) first_row (runs N) (places N) |}
    | _, _ => None
    end
  else None.

(* Every margin has to exceed what executions may be wrong by; there are no ties. *)
Definition judge_deployed_ranges (d : deployed_ranges) (by_prediction : bool) (t y : Z) (c : range_claim) : option verdict :=
  let found := if Z.leb 0 t && Z.ltb t (nodes_moved d) then get (errors_moved d) t else None in
  let error y other := match found with Some x => Some (pair_error (arithmetic_moved d) x y other) | None => None end in
  match c with
  | Keeps scale trees => if margins_exceed (exactly_moved d) (error y) t y scale trees then Some IsRobust else None
  | Moved other D entries =>
      match moved_by (exactly_moved d) by_prediction t y other D entries, error other y with
      | Some x, Some e => if Z.ltb (D * e) x then Some IsBroken else None
      | _, _ => None
      end
  end.

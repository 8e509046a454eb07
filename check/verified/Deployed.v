(* The network as it runs: bounds of the errors of executions in floating point, in integers, and the judgement of a node. Definitions only. *)
From Coq Require Import ZArith List Bool.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees Widen Menus Arranged.
Import ListNotations.
Open Scope Z_scope.

(* Terms that read the rows, and the others. The bias is a matter of the others. *)
Definition of_rows (t : reader Z) : bool := Nat.eqb (read_layer t) 0.
Definition rows_part (l : stage Z) : stage Z := {| steps := filter of_rows (steps l); stage_bias := fun _ _ => 0; weight_error := weight_error l; bias_error := fun _ => O; is_folded := is_folded l;
     bias_parts := fun _ _ => 0; more_for_bias := O; rectifies := rectifies l |}.
Definition later_part (l : stage Z) : stage Z :=
  {| steps := filter (fun t => negb (of_rows t)) (steps l); stage_bias := stage_bias l; weight_error := weight_error l; bias_error := bias_error l;
     is_folded := is_folded l; bias_parts := bias_parts l; more_for_bias := more_for_bias l; rectifies := rectifies l |}.

(* The sizes of weights and biases, or of the parts of which they are sums. *)
Definition with_its_parts (x parts : Z) : Z := Z.max (Z.abs x) parts.
Definition weight_size (t : reader Z) (i j : Z) : Z := with_its_parts (weight t i j) (parts_size t i j).
Definition bias_size (l : stage Z) (m j : Z) : Z := with_its_parts (stage_bias l m j) (bias_parts l m j).

(* Terms that read the rows, as a network of one layer, with magnitudes in the place of their numbers. *)
Definition absolute (count : Z) (l : stage Z) : network Z :=
  [{| terms := map (fun t : reader Z => {| operator := fun m => map (fun e => (fst e, Z.abs (snd e))) (operator t m); weight := weight_size t |}) (steps l);
      inputs := count; bias := fun _ _ => 0; relu := fun _ => false |}].

Definition no_prices : prices := {| every := 0; nodes := [] |}.
Definition no_hints : hints :=
  {| slope := fun _ _ _ => 0; line := fun _ _ => (0, 0); reach := fun _ _ => None; bends := fun _ _ => []; one := 1; support := fun _ _ => None;
     nested := fun _ _ => []; price := no_prices |}.

Definition at_unit (width : Z) (b : list (Z * Z)) (j : Z) : Z * Z :=
  match List.find (fun e => Z.eqb (fst e) j) (combine (ids width) b) with Some e => snd e | None => (0, 0) end.
Definition greatest {B} (l : list B) (least : Z) (f : B -> Z) : Z := fold_right (fun b rest => Z.max (f b) rest) least l.

(* The numbers of two rising lists. *)
Fixpoint union (l : list Z) : list Z -> list Z :=
  match l with
  | [] => fun r => r
  | a :: l' =>
      fix go r := match r with
        | [] => a :: l'
        | b :: r' => if Z.ltb a b then a :: union l' r else if Z.ltb b a then b :: go r' else a :: union l' r'
        end
  end.

(* What a node receives in a layer that runs: for each term, at most how many inputs are not 0, the number of its entries, and what a product passes
   of entries that are wrong and by itself; no input is larger than `largest`; the sums of the magnitudes that are added up for each unit; and how wrong a
   sum is, and a difference of two sums, if inputs are. *)
Record term_counts := { inputs_seen : Z; row_length : Z; roundings_read : Z }.
Record received := { counts : list term_counts; largest : Z; added : Z -> Z; inherited : Z -> Z; between : Z -> Z -> Z }.

(* Attributes that the row of a term sees, by those of each node, with those that may be added: no more than budgets allow, than nodes may get, and than
   there are. *)
Definition present (X : Z -> Z -> bool) (inputs : Z) : table (list Z) := tabulate (fun n => filter (X n) (ids inputs)).
Definition may_get (P : problem) (inputs : Z) : table Z :=
  tabulate (fun n => Z.min (pos (each P n)) (Z.of_nat (length (filter (fun d => permitted P n d && negb (attributes P n d)) (ids inputs))))).
Definition seen_attributes (P : problem) (of_node : table (list Z)) (may_get : table Z) (inputs : Z) (row : list (Z * Z)) : Z :=
  Z.min (pos inputs)
    (Z.of_nat (length (fold_right (fun e rest => union (get of_node (fst e)) rest) [] row)) + Z.min (pos (total P)) (zsum row (fun e => get may_get (fst e)))).

(* What reading adds to a sum of magnitudes of attributes, where so large a number stands for what is added to attributes that underflow. *)
Definition misread (A : arithmetic) (base magnitude factors : Z) : Z :=
  if reads_exactly A then 0
  else (magnitude * 2 ^ 126 + 2 ^ base * factors * (if flushes A then 2 ^ precision A else 1)) / 2 ^ (126 + precision A) + 1.

(* What terms that read the rows receive, where attributes that node m reads are at most `large m`, times 2^base; `magnitudes` are the intervals of their sums
   of magnitudes. Where rows are 0 and 1 and are read as they are, products with them are exact. *)
Definition receive_first (A : arithmetic) (base : Z) (P : problem) (of_node : table (list Z)) (may_get : table Z) (large : Z -> Z)
    (magnitudes : Z -> Z -> option (list (Z * Z))) (plain : bool) (l : stage Z) (weights width m : Z) : option received :=
  match magnitudes width m with
  | Some b =>
      let most := large m in
      let entries := zsum (steps l) (fun t => zsum (operator t m) (fun e => Z.abs (snd e))) in
      let factors := if reads_exactly A then 0 else weights * zsum (ids (count P)) (fun _ => 1) * entries in
      let wrong j := misread A base (snd (at_unit width b j)) factors in
      if Z.leb (2 ^ base) most && Z.ltb most (2 ^ (127 + base)) then
        Some {| counts := map (fun t : reader Z => {| inputs_seen := seen_attributes P of_node may_get (count P) (operator t m); row_length := Z.of_nat (length (operator t m));
                  roundings_read := Z.of_nat (entry_error t m) + Z.of_nat (more_roundings t) + (if plain then 0 else 1) |}) (steps l);
                largest := most + misread A base most 1; added := fun j => snd (at_unit width b j) + wrong j; inherited := wrong;
                between := fun y other => wrong y + wrong other |}
      else None
  | None => None
  end.

(* The same in smaller units, and what both kinds of terms receive together. *)
Definition lifted (factor : Z) (r : received) : received :=
  {| counts := counts r; largest := factor * largest r; added := fun j => factor * added r j; inherited := fun j => factor * inherited r j;
     between := fun y other => factor * between r y other |}.
Definition together (r r' : received) : received :=
  {| counts := counts r ++ counts r'; largest := Z.max (largest r) (largest r'); added := fun j => added r j + added r' j;
     inherited := fun j => inherited r j + inherited r' j; between := fun y other => between r y other + between r' y other |}.

Section Errors.
  Variables (A : arithmetic) (base : Z) (z : network Z) (s : shifts) (classes : Z).
  (* An interval for each unit of a node in the last layer of a chain; and what a node receives of the rows in a layer that runs, none of
     whose weights is larger than so much. *)
  Variables (within : network Z -> Z -> Z -> option (list (Z * Z))) (first_row : nat -> stage Z -> Z -> Z -> Z -> option received).

  (* Of each unit below, what it passes on: its size and its error. *)
  Definition passing := option (table (Z * Z)).
  Definition passed (p : passing) (i : Z) : Z * Z := match p with Some t => get t i | None => (0, 0) end.
  Definition is_known (p : passing) : bool := match p with Some _ => true | None => false end.

  (* How wrong weights f make a sum, for sizes and errors of what terms receive. *)
  Definition summed_errors (sums : list (reader Z * list (Z * Z))) (f : reader Z -> Z -> Z) : Z :=
    zsum sums (fun r => zsum (combine (ids (read_units (fst r))) (snd r)) (fun q => snd (snd q) * Z.abs (f (fst r) (fst q)))).
  Definition receive_later (l : stage Z) (s : Z) (known : nat -> table passing) (m : Z) : option received :=
    let rows := map (fun t : reader Z => (t, map (fun e => (Z.abs (snd e), get (known (read_layer t)) (fst e))) (operator t m))) (steps l) in
    if forallb (fun r => forallb (fun p => is_known (snd p)) (snd r)) rows then
      let sums := map (fun r => (fst r, map (fun i =>
        (zsum (snd r) (fun p => fst p * fst (passed (snd p) i)), zsum (snd r) (fun p => fst p * snd (passed (snd p) i)))) (ids (read_units (fst r))))) rows in
      Some {| counts := map (fun r =>
                {| inputs_seen := Z.of_nat (length (filter (fun i => existsb (fun p => negb (Z.eqb (fst (passed (snd p) i)) 0)) (snd r)) (ids (read_units (fst r)))));
                   row_length := Z.of_nat (length (snd r)); roundings_read := Z.of_nat (entry_error (fst r) m) + Z.of_nat (more_roundings (fst r)) + 1 |}) rows;
              largest := greatest rows (2 ^ s) (fun r => greatest (snd r) 0 (fun p => greatest (ids (read_units (fst r))) 0 (fun i => fst (passed (snd p) i))));
              added := fun j => bias_size l m j +
                zsum sums (fun r => zsum (combine (ids (read_units (fst r))) (snd r)) (fun q => fst (snd q) * weight_size (fst r) (fst q) j));
              inherited := fun j => summed_errors sums (fun t i => weight t i j);
              between := fun y other => summed_errors sums (fun t i => weight t i y - weight t i other) |}
    else None.

  (* How many roundings a product passes at most: a term adds up inputs and then entries, or entries and then inputs, and is as many summands of the
     others' as the larger number of both; a bias passes those of all summands. And what underflow adds; nothing where numbers may leave the range, or are
     too many. *)
  Definition heaviest (l : stage Z) (width w : Z) : Z :=
    greatest (steps l) (2 ^ w) (fun t => greatest (ids (read_units t)) 0 (fun i => greatest (ids width) 0 (fun j => weight_size t i j))).
  Definition roundings_of (l : stage Z) (m : Z) (r : received) : Z :=
    zsum (counts r) (fun c => Z.max (inputs_seen c) (row_length c)) +
    Z.max (Z.of_nat (bias_error l m) + Z.of_nat (more_for_bias l))
      (greatest (counts r) 0 (fun c => if Z.eqb (row_length c) 0 then 0
        else Z.min (inputs_seen c) (row_length c) + roundings_read c + Z.of_nat (weight_error l))).
  Definition cells_of (r : received) : Z := zsum (counts r) (fun c => (inputs_seen c + 1) * (row_length c + 1)) + 1.
  Definition scale_of (l : stage Z) (r : received) (weights a m : Z) : Z :=
    largest r * weights * greatest (steps l) (2 ^ a) (fun t => greatest (operator t m) 0 (fun e => Z.abs (snd e))).
  Definition underflow (r : received) (scale : Z) : Z :=
    24 * (cells_of r * scale) * (if flushes A then 2 ^ precision A else 1) / 2 ^ (126 + precision A) + 1.
  Definition fits (l : stage Z) (r : received) (scale shift width m : Z) : bool :=
    Z.leb (2 * roundings_of l m r) (2 ^ precision A) &&
    Z.ltb (128 * (cells_of r * scale + greatest (ids width) 0 (fun j => bias_size l m j))) (2 ^ (127 + shift)).
  Definition relative (n magnitude : Z) : Z := (n * 2 ^ precision A + n * n) * magnitude / 2 ^ (2 * precision A) + 1.

  Definition summing := option (received * (Z * Z)).
  Definition sums_of (l : stage Z) (width weights a shift : Z) (r : option received) (m : Z) : summing :=
    match r with
    | Some r => let scale := scale_of l r weights a m in if fits l r scale shift width m then Some (r, (roundings_of l m r, underflow r scale)) else None
    | None => None
    end.
  Definition error_of (x : received * (Z * Z)) (j : Z) : Z :=
    inherited (fst x) j + relative (fst (snd x)) (added (fst x) j) + snd (snd x).
  Definition pair_error (x : received * (Z * Z)) (y other : Z) : Z :=
    between (fst x) y other + relative (fst (snd x)) (added (fst x) y + added (fst x) other) + 2 * snd (snd x).

  (* A unit that surely passes on 0 is not wrong. *)
  Definition pass (active : bool) (b : Z * Z) (error : Z) : Z * Z :=
    if active then (if Z.leb (snd b + error) 0 then (0, 0) else (pos (snd b) + error, error))
    else (Z.max (Z.abs (fst b)) (Z.abs (snd b)) + error, error).
  Definition width_at (above : nat) : Z := match above with O => classes | S a => match nth_error z a with Some l => inputs l | None => 0 end end.
  Definition passing_of (l : stage Z) (p : place) (sums : table summing) : table passing :=
    tabulate (fun m =>
      match get sums m with
      | Some x =>
          let width := width_at (layers_above p) in
          match within (skipn (layers_above p) z) width m with
          | Some b =>
              if Z.leb 0 (first_unit p) && Z.leb (first_unit p + wide p) width then
                Some (tabulate (fun j => pass (rectifies l j) (at_unit width b (first_unit p + j)) (error_of x j)))
              else None
          | None => None
          end
      | None => None
      end).

  (* What layers have passed on, each times its own power of two, brought to one that is not smaller. *)
  Definition nothing_passed : table passing := tabulate (fun _ => None).
  Definition lifted_table (factor : Z) (p : table passing) : table passing :=
    if Z.eqb factor 1 then p
    else tabulate (fun n => match get p n with
      | Some t => Some (tabulate (fun i => (factor * fst (get t i), factor * snd (get t i))))
      | None => None
      end).
  Definition brought (to : Z) (known : list (Z * table passing)) : list (table passing) :=
    map (fun e => if Z.leb (fst e) to then lifted_table (2 ^ (to - fst e)) (snd e) else nothing_passed) known.

  Definition receive (k : nat) (l rows later : stage Z) (width w below : Z) (known : list (table passing)) (m : Z) : option received :=
    match receive_later later below (fun source => nth source known nothing_passed) m with
    | Some r =>
        match steps rows with
        | [] => Some r
        | _ => match first_row k rows (heaviest rows width w) width m with
            | Some r' => if Z.leb base below then Some (together (lifted (2 ^ (below - base)) r') r) else None
            | None => None
            end
        end
    | None => None
    end.
  Definition stage_sums (k : nat) (l : stage Z) (p : place) (known : list (Z * table passing)) : table summing :=
    match skipn (layers_above p) s with
    | (a, w) :: rest =>
        let below := shift_of base rest in
        let weights := heaviest l (wide p) w in
        let at_hand := brought below known in
        let rows := rows_part l in
        let later := later_part l in
        tabulate (fun m => sums_of l (wide p) weights a (below + a + w) (receive k l rows later (wide p) w below at_hand m) m)
    | [] => tabulate (fun _ => None)
    end.

  (* One layer after another: what is said of the last one. *)
  Fixpoint all_sums (k : nat) (net : list (stage Z)) (places : list place) (known : list (Z * table passing)) : table summing :=
    match net, places with
    | l :: rest, p :: others =>
        let sums := stage_sums k l p known in
        match rest with
        | [] => sums
        | _ => all_sums (S k) rest others (known ++ [(shift_of base (skipn (layers_above p) s), passing_of l p sums)])
        end
    | _, _ => tabulate (fun _ => None)
    end.
  Definition last_sums (net : list (stage Z)) (places : list place) : table summing := all_sums 0 net places [(base, nothing_passed)].
End Errors.

(* Once for all nodes: the checker of the exact network, and the errors on all admissible rows, or on those of a witness. *)
Record deployed := { arithmetic_of : arithmetic; node_range : Z; exactly : prepared; errors : table summing; errors_on : list flip -> table summing }.

(* Rows as they are, and no others. *)
Definition only (P : problem) (X : Z -> Z -> bool) : problem :=
  {| attributes := X; count := count P; permitted := fun _ _ => false; total := 0; each := fun _ => 0 |}.

(* The checker of a network may be about another one, as where changes of categories are flips: `seen_by_checker` makes it. *)
Definition alone (m : Z) (r : result (list (Z * list (Z * Z)))) : option (list (Z * Z)) :=
  match r with Got [(n, b)] => if Z.eqb n m then Some b else None | _ => None end.
Definition within_view (seen_by_checker : network Z -> network Z) (v : view) (net : network Z) (width m : Z) : option (list (Z * Z)) :=
  alone m (intervals_of v no_bounds no_hints false (seen_by_checker net) width [m]).

Definition sane (A : arithmetic) (base : Z) (s : shifts) : bool :=
  Z.leb 2 (precision A) && Z.leb 0 base && forallb (fun e => Z.leb 0 (fst e) && Z.leb 0 (snd e)) s.

(* The network that runs, where its layers stand in the chain of its exact values, and what the chain's layers consist of. *)
Record running := { runs : list (stage Z); places : list place; blocks : list (list block) }.
Definition fits_chain (nodes count classes : Z) (z : network Z) (s : shifts) (N : running) : bool :=
  arranged nodes count (runs N) (places N) s 0 z s (blocks N) && all_placed count (runs N) (places N) classes (blocks N).

(* What is received of the rows in layer k, by views of what adds up their magnitudes; and errors of the last layer. *)
Definition first_rows (A : arithmetic) (base : Z) (P : problem) (of_node : table (list Z)) (may_get : table Z) (seen_by_checker : network Z -> network Z)
    (views : list (option view)) (k : nat) (l : stage Z) : Z -> Z -> Z -> option received :=
  match nth_error views k with
  | Some (Some v) => receive_first A base P of_node may_get (fun _ => 2 ^ base) (within_view seen_by_checker v (absolute (count P) l)) (reads_exactly A && Z.eqb base 0) l
  | _ => fun _ _ _ => None
  end.
Definition table_for (seen_by_checker : network Z -> network Z) (A : arithmetic) (base : Z) (z : network Z) (s : shifts) (classes : Z) (N : running)
    (p : prepared) (qs : list (option prepared)) (P : problem) (view_in : prepared -> view) : table summing :=
  let views := map (fun q => match q with Some q => Some (view_in q) | None => None end) qs in
  last_sums A base z s classes (within_view seen_by_checker (view_in p))
    (first_rows A base P (present (attributes P) (count P)) (may_get P (count P)) seen_by_checker views) (runs N) (places N).

(* From a way to prepare the checker of a network about flips of P; `rows` are those that the network reads after flips, of the attributes and budgets of P0. *)
Definition of_layer (prepare : network Z -> Z -> option prepared) (seen_by_checker : network Z -> network Z) (count : Z) (e : stage Z * place)
    : option (option prepared) :=
  match steps (rows_part (fst e)) with
  | [] => Some None
  | _ => match prepare (seen_by_checker (absolute count (rows_part (fst e)))) (wide (snd e)) with Some q => Some (Some q) | None => None end
  end.
Definition deployed_by (prepare : network Z -> Z -> option prepared) (seen_by_checker : network Z -> network Z) (P0 P : problem)
    (rows : list flip -> Z -> Z -> bool) (A : arithmetic) (base nodes : Z) (z : network Z) (s : shifts) (classes : Z) (N : running) : option deployed :=
  if sane A base s && fits_chain nodes (count P0) classes z s N then
    match prepare (seen_by_checker z) classes, each_some (of_layer prepare seen_by_checker (count P0)) (combine (runs N) (places N)) with
    | Some p, Some qs =>
        let table_of := table_for seen_by_checker A base z s classes N p qs in
        Some {| arithmetic_of := A; node_range := nodes; exactly := p; errors := table_of P0 root;
                errors_on := fun F => let made := only P (flipped (attributes P) F) in table_of (only P0 (rows F)) (fun q => view_of q made) |}
    | _, _ => None
    end
  else None.

(* Rows as they are; divided by their sums, no quotient being above 1; and with categories replaced. *)
Definition as_it_is (net : network Z) : network Z := net.
Definition prepare_deployed (A : arithmetic) (nodes : Z) (z : network Z) (s : shifts) (classes : Z) (N : running) (P : problem) : option deployed :=
  deployed_by (fun net top => prepare net top P no_rivals) as_it_is P P (flipped (attributes P)) A 0 nodes z s classes N.
Definition prepare_deployed_rows (A : arithmetic) (base nodes : Z) (z : network Z) (s : shifts) (classes : Z) (N : running) (P : problem) (sigma : Z -> Z)
    : option deployed :=
  if Z.leb 0 (count P) && forallb (fun c => Z.leb 0 (sigma c) && Z.leb (sigma c) (2 ^ base)) (ids (count P + 1)) then
    deployed_by (fun net top => prepare_rows net top P sigma) as_it_is P P (flipped (attributes P)) A base nodes z s classes N else None.
Definition prepare_deployed_categories (A : arithmetic) (nodes : Z) (z : network Z) (s : shifts) (classes : Z) (N : running) (P : problem) (G : grouping)
    : option (deployed * problem) :=
  match bottom z classes with
  | Some (first, _) =>
      if fit_for_groups P G first then
        let (W, change) := widened P G in
        match deployed_by (fun net top => prepare net top W (same_group change)) (widen change (count W)) P W (recategorise P G change) A 0 nodes z s classes N with
        | Some d => Some (d, W)
        | None => None
        end
      else None
  | None => None
  end.

Section Judge.
  Variable d : deployed.
  Let p := exactly d.
  Definition errors_at (sums : table summing) (t : Z) : summing := if Z.leb 0 t && Z.ltb t (node_range d) then get sums t else None.

  Definition exceeds (x : summing) (y other margin : Z) : bool :=
    match x with Some x => Z.ltb (pair_error (arithmetic_of d) x y other) margin | None => false end.

  (* Every margin has to exceed what executions may be wrong by; there are no ties. *)
  Definition judge_deployed (P : problem) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) : option verdict :=
    match c with
    | Robust scale trees =>
        match errors_at (errors d) t with
        | Some x =>
            if Z.ltb 0 scale && Z.leb 0 y && Z.ltb y (classes p) &&
              forallb (fun other => Z.eqb other y ||
                match List.find (fun e => Z.eqb (fst e) other) trees with
                | Some e => tree_above p (scale * pair_error (arithmetic_of d) x y other) P (root p) [] no_signs whole (margin p t y other scale) (snd e)
                | None => false
                end) (ids (classes p))
            then Some IsRobust else None
        | None => None
        end
    | Witness other F =>
        if is_admissible P F && are_apart p F && negb (Z.eqb other y) && (negb by_prediction || is_predicted p t y) then
          let l := logits p t F in
          match logit_of l y, logit_of l other with
          | Some a, Some b => if exceeds (errors_at (errors d) t) other y (b - a) || exceeds (errors_at (errors_on d F) t) other y (b - a) then Some IsBroken else None
          | _, _ => None
          end
        else None
    end.
End Judge.

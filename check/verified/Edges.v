(* Changed edges: definitions only. Sets of changes are listed, unless a bound shows that they keep the class. From a set that is made, a larger one changes the logits of a node only if it
   has a change of a row that was read to compute them: only such changes are added to it, each with those before it left out. *)
From Coq Require Import ZArith List Bool.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees.
Import ListNotations.
Open Scope Z_scope.

Definition among (c : edge) (C : list edge) : bool := existsb (same c) C.

(* Admissible sets. *)
Section Budget.
  Variable E : edge_problem.

  Definition is_permitted (c : edge) : bool :=
    Z.leb 0 (fst c) && Z.ltb (fst c) (node_count E) && Z.leb 0 (snd c) && Z.ltb (snd c) (node_count E) && negb (Z.eqb (fst c) (snd c)) &&
    (directed E || Z.ltb (fst c) (snd c)) && may_change E (fst c) (snd c).
  Definition within_at (C : list edge) (v : Z) : bool :=
    let here := counted_at E v C in
    Z.leb (size here) (most_at E v) &&
    (negb (keeps_one E) || Z.leb (size (removals E here)) (Z.max 0 (Z.of_nat (length (graph_of E v)) - 1))).
  Definition is_admissible_changes (C : list edge) : bool :=
    distinct C && Z.leb (size C) (most_changes E) && forallb is_permitted C &&
    forallb (fun c => within_at C (snd c) && (directed E || within_at C (fst c))) C.

  (* All permitted changes with an arc into a node. *)
  Definition changes_into (v : Z) : list edge :=
    filter is_permitted (map (fun u => (u, v)) (ids (node_count E)) ++ (if directed E then [] else map (fun u => (v, u)) (ids (node_count E)))).
End Budget.

(* The nodes whose rows matter to the units of given nodes: rows by which they receive something, and rows of senders whose size is read. *)
Definition along_edges (r : rule Z) : bool := match r with Fixed _ => false | _ => true end.
Definition by_sender (r : rule Z) : bool := match r with ByBoth _ _ => true | _ => false end.
Fixpoint rows_read (g : graph) (net : list (ruled Z)) (wanted : list Z) : list Z :=
  match net with
  | [] => []
  | l :: below =>
      let senders := sources (terms (layer_on g l)) wanted in
      (if existsb (fun p => along_edges (fst p)) (ruled_terms l) then wanted else []) ++
      (if existsb (fun p => by_sender (fst p)) (ruled_terms l) then senders else []) ++
      match below with [] => [] | _ => rows_read g below senders end
  end.
Definition each_once (l : list Z) : list Z := map fst (group (map (fun v => (v, tt)) l)).

(* What the first layer sends does not depend on edges, and is computed of each node once. *)
Fixpoint lowest (net : list (ruled Z)) (top : Z) : option (ruled Z * Z) :=
  match net with
  | [] => None
  | l :: below => match below with [] => Some (l, top) | _ => lowest below (ruled_inputs l) end
  end.
Definition sent_rows (V : zrows) (size n : Z) : list (Z * Z) := filter (fun p => negb (Z.eqb (snd p) 0)) (map (fun d => (d, V n d)) (ids size)).
Definition sent_first (l : ruled Z) (width : Z) (V : zrows) : list ((rule Z * (Z -> Z -> Z)) * table (list Z)) :=
  map (fun p => (p, tabulate (messages {| operator := fun _ => []; weight := snd p |} width (sent_rows V (ruled_inputs l))))) (ruled_terms l).
Definition sent_on (g : graph) (sent : list ((rule Z * (Z -> Z -> Z)) * table (list Z))) : list (term Z * table (list Z)) :=
  map (fun s => ({| operator := by_rule (fst (fst s)) g; weight := snd (fst s) |}, snd s)) sent.

Record edges_prepared := {
  edge_net : list (ruled Z); edge_classes : Z; edges_of : edge_problem; into : table (list edge);
  sent_once : list ((rule Z * (Z -> Z -> Z)) * table (list Z)) }.
Definition prepare_edges (net : list (ruled Z)) (classes : Z) (E : edge_problem) (V : zrows) : option edges_prepared :=
  match lowest net classes with
  | Some (l, width) =>
      Some {| edge_net := net; edge_classes := classes; edges_of := E; into := tabulate (changes_into E); sent_once := sent_first l width V |}
  | None => None
  end.

(* What became of a list of sets: all keep the class, with so much work left; one does not; or it took too much. Trees of splits on changes have leaves of any kind. *)
Inductive listing := AllKeep (left : Z) | OneLoses | TooMany.
Inductive edge_tree (leaf : Type) := ListAll (l : leaf) | EdgeSplit (c : edge) (without made : edge_tree leaf).
Arguments ListAll {leaf}. Arguments EdgeSplit {leaf}.

Section Listing.
  Variables (p : edges_prepared) (t : Z).
  Definition graph_after (C : list edge) : graph := get (tabulate (changed_graph (edges_of p) C)).

  (* The sets that have `made` and one of the open changes: with each of them, the ones before it left out. *)
  Fixpoint each_open (more : Z -> list edge -> list edge -> listing) (made open left_out : list edge) (work : Z) : listing :=
    match open with
    | [] => AllKeep work
    | c :: rest =>
        if among c left_out || among c made || negb (is_admissible_changes (edges_of p) (c :: made)) then each_open more made rest left_out work
        else
          match more work (c :: made) left_out with
          | AllKeep left => each_open more made rest (c :: left_out) left
          | other => other
          end
    end.

  (* The sets that have `made` and nothing of `left_out`, one unit of work for each; on the graph after each a leaf has to show that the class is kept. Where there are many, a bound, as
     costly as 5, is asked first which changes matter: one of them is in every such set that loses the class. *)
  Context {leaf : Type}.
  Variable keeps : leaf -> list Z -> list edge -> graph -> bool.
  Variable critical : leaf -> list Z -> list edge -> list edge -> option (list edge).
  Fixpoint list_sets (depth : nat) (s : leaf) (others : list Z) (work : Z) (made left_out : list edge) : listing :=
    match depth with
    | O => TooMany
    | S less =>
        if Z.leb work 0 then TooMany
        else
          let g := graph_after made in
          if keeps s others made g then
            if Z.leb (most_changes (edges_of p)) (size made) then AllKeep (work - 1)
            else
              let open := flat_map (get (into p)) (each_once (rows_read g (edge_net p) [t])) in
              if Nat.ltb 4 (length open) then
                match critical s others made left_out with
                | Some matter => each_open (list_sets less s others) made matter left_out (work - 5)
                | None => if Z.ltb work (Z.of_nat (length open)) then TooMany else each_open (list_sets less s others) made open left_out (work - 1)
                end
              else each_open (list_sets less s others) made open left_out (work - 1)
          else OneLoses
    end.

  Fixpoint list_tree (others : list Z) (work : Z) (made left_out : list edge) (s : edge_tree leaf) : listing :=
    match s with
    | ListAll l => list_sets (S (Z.to_nat (most_changes (edges_of p)))) l others work made left_out
    | EdgeSplit c without changed =>
        if among c made then OneLoses
        else
          match list_tree others work made (c :: left_out) without with
          | AllKeep left =>
              if is_admissible_changes (edges_of p) (c :: made) then list_tree others left (c :: made) left_out changed else AllKeep left
          | other => other
          end
    end.

  Fixpoint list_trees (work : Z) (trees : list (list Z * edge_tree leaf)) : listing :=
    match trees with
    | [] => AllKeep work
    | (others, s) :: rest => match list_tree others work [] [] s with AllKeep left => list_trees left rest | other => other end
    end.
End Listing.

(* Where edges alone are changed, logits decide on each graph. *)
Section Logits.
  Variables (p : edges_prepared) (t y : Z).
  Definition logits_on (g : graph) : list (Z * Z) :=
    combine (ids (edge_classes p)) (get (zforward (on_graph (edge_net p) g) (sent_on g (sent_once p)) (edge_classes p)) t).
  Definition keeps (others : list Z) (g : graph) : bool :=
    let l := logits_on g in
    match logit_of l y with
    | Some own => forallb (fun other => match logit_of l other with Some x => Z.ltb x own | None => false end) others
    | None => false
    end.
End Logits.

(* Do trees say something of all other classes? *)
Definition covers {tree} (classes y : Z) (trees : list (list Z * tree)) : bool :=
  Z.leb 0 y && Z.ltb y classes && forallb (fun other => Z.eqb other y || existsb (fun e => existsb (Z.eqb other) (fst e)) trees) (ids classes).

Inductive edge_claim := KeepsClass (work : Z) (trees : list (list Z * edge_tree unit)) | LosesClass (other : Z) (C : list edge).
Inductive edge_answer := Said (v : verdict) | NotShown | TooMuchWork.

Definition judge_edges (critical : Z -> Z -> list Z -> list edge -> list edge -> option (list edge)) (p : edges_prepared) (by_prediction : bool) (t y : Z) (c : edge_claim) : edge_answer :=
  match c with
  | KeepsClass work trees =>
      if covers (edge_classes p) y trees
      then match list_trees p t (fun _ others _ => keeps p t y others) (fun _ => critical t y) work trees with AllKeep _ => Said IsRobust | OneLoses => NotShown | TooMany => TooMuchWork end
      else NotShown
  | LosesClass other C =>
      if is_admissible_changes (edges_of p) C && negb (Z.eqb other y) && (negb by_prediction || leads (logits_on p t (graph_of (edges_of p))) y) then
        let l := logits_on p t (graph_after p C) in
        match logit_of l y, logit_of l other with
        | Some a, Some b => if Z.ltb a b then Said IsBroken else if Z.eqb a b then Said IsTied else NotShown
        | _, _ => NotShown
        end
      else NotShown
  end.

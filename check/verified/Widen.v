(* Categories as flips: a change of a category is an attribute that no row has, with the weights of the new category less those of the
   old one. Definitions only. *)
From Coq Require Import ZArith List Bool.
From Verified Require Import Spec Sums Tables Rules Integers Checker Trees.
Import ListNotations.
Open Scope Z_scope.

(* A group, the category that a row loses and the one that it gets; None stands for none of them. *)
Definition category_change := (Z * (option Z * option Z))%type.
Definition same_category (a b : option Z) : bool :=
  match a, b with Some x, Some y => Z.eqb x y | None, None => true | _, _ => false end.

Section Widen.
  Variables (P : problem) (G : grouping).

  Definition members (g : Z) : list Z := filter (fun d => Z.eqb (group_of G d) g) (ids (count P)).
  Definition category (X : Z -> Z -> bool) (n g : Z) : option Z := List.find (X n) (members g).
  Definition none_of (g n : Z) : bool := match category (attributes P) n g with None => true | Some _ => false end.
  Definition spared (g : Z) : bool := existsb (none_of g) (ids (nodes_of G)).
  Definition choices (g : Z) : list (option Z) := (if spared g then [None] else []) ++ map Some (members g).

  (* All changes, by group, old category and new one. *)
  Definition changes : list category_change :=
    flat_map (fun g => let all := choices g in
      flat_map (fun o => map (fun c => (g, (o, c))) (filter (fun c => negb (same_category o c)) all)) all) (ids (groups G)).

  Definition at_most_one (n g : Z) : bool := match filter (attributes P n) (members g) with _ :: _ :: _ => false | _ => true end.
  Definition one_each : bool := forallb (fun n => forallb (at_most_one n) (ids (groups G))) (ids (nodes_of G)).

  Definition change_at (all : list category_change) (d : Z) : option category_change :=
    if Z.ltb d (count P) then None else nth_error all (Z.to_nat (d - count P)).
  Definition allowed (n : Z) (a : option Z) : bool := match a with Some d => permitted P n d | None => true end.

  Definition widened : problem * (Z -> option category_change) :=
    let all := changes in
    let known := tabulate (change_at all) in
    let now := tabulate (fun n => tabulate (category (attributes P) n)) in
    ({| attributes := fun n d => Z.ltb d (count P) && attributes P n d;
        count := count P + Z.of_nat (length all);
        permitted := fun n d => match get known d with
          | Some (g, (o, c)) => Z.leb 0 n && Z.ltb n (nodes_of G) && same_category (get (get now n) g) o && allowed n o && allowed n c
          | None => false
          end;
        total := total P; each := each P |}, get known).
End Widen.

(* Two changes of the same group exclude each other. *)
Definition same_group (change : Z -> option category_change) (d e : Z) : bool :=
  match change d, change e with Some (g, _), Some (h, _) => Z.eqb g h | _, _ => false end.

(* The network that reads changes, too. *)
Definition weight_of (t : term Z) (a : option Z) (j : Z) : Z := match a with Some d => weight t d j | None => 0 end.
Definition widen_term (change : Z -> option category_change) (t : term Z) : term Z :=
  {| operator := operator t;
     weight := fun i j => match change i with Some (_, (o, c)) => weight_of t c j - weight_of t o j | None => weight t i j end |}.
Definition widen_layer (change : Z -> option category_change) (size : Z) (l : layer Z) : layer Z :=
  {| terms := map (widen_term change) (terms l); inputs := size; bias := bias l; relu := relu l |}.
Fixpoint widen (change : Z -> option category_change) (size : Z) (net : network Z) : network Z :=
  match net with
  | [] => []
  | l :: below => match below with [] => [widen_layer change size l] | _ => l :: widen change size below end
  end.

(* The rows that changes make: of a row and a group the first change counts, there being no others. *)
Definition group_is (change : Z -> option category_change) (g : Z) (f : flip) : bool := match change (snd f) with Some (h, _) => Z.eqb h g | None => false end.
Definition chosen (change : Z -> option category_change) (F : list flip) (n g : Z) : option flip :=
  List.find (fun f => Z.eqb (fst f) n && group_is change g f) F.
Definition recategorise (P : problem) (G : grouping) (change : Z -> option category_change) (F : list flip) (n d : Z) : bool :=
  if Z.leb 0 d && Z.ltb d (count P) then
    match chosen change F n (group_of G d) with
    | Some f => match change (snd f) with Some (_, (_, c)) => same_category c (Some d) | None => false end
    | None => attributes P n d
    end
  else attributes P n d.

Definition fit_for_groups (P : problem) (G : grouping) (first : layer Z) : bool := Z.leb 0 (count P) && Z.eqb (inputs first) (count P) && one_each P G.
Definition prepare_categories (net : network Z) (classes : Z) (P : problem) (G : grouping) : option (prepared * problem) :=
  match bottom net classes with
  | Some (first, _) =>
      if fit_for_groups P G first then
        let (W, change) := widened P G in
        match prepare (widen change (count W) net) classes W (same_group change) with Some p => Some (p, W) | None => None end
      else None
  | None => None
  end.

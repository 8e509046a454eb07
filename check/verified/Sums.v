(* Sums of integers over lists, and the lemmas about them that everything else uses. *)
From Coq Require Import ZArith List Bool Lia Permutation.
From Verified Require Import Spec.
Import ListNotations.
Open Scope Z_scope.

Definition zsum {A} (over : list A) (f : A -> Z) : Z := fold_right (fun a rest => f a + rest) 0 over.
Definition pos (x : Z) : Z := Z.max x 0.

Lemma zsum_nil {A} (f : A -> Z) : zsum [] f = 0.
Proof. reflexivity. Qed.

Lemma zsum_cons {A} (a : A) l f : zsum (a :: l) f = f a + zsum l f.
Proof. reflexivity. Qed.

Lemma zsum_ext_in {A} (l : list A) f g : (forall a, In a l -> f a = g a) -> zsum l f = zsum l g.
Proof.
  induction l as [|a l IH]; intros H; [reflexivity|]. rewrite !zsum_cons, (H a), IH; auto with datatypes.
Qed.

Lemma zsum_ext {A} (l : list A) f g : (forall a, f a = g a) -> zsum l f = zsum l g.
Proof. intros H. apply zsum_ext_in. auto. Qed.

Lemma zsum_le_in {A} (l : list A) f g : (forall a, In a l -> f a <= g a) -> zsum l f <= zsum l g.
Proof.
  induction l as [|a l IH]; intros H; [reflexivity|]. rewrite !zsum_cons.
  specialize (IH (fun b hb => H b (or_intror hb))). specialize (H a (or_introl eq_refl)). lia.
Qed.

Lemma zsum_plus {A} (l : list A) f g : zsum l (fun a => f a + g a) = zsum l f + zsum l g.
Proof. induction l as [|a l IH]; [reflexivity|]. rewrite !zsum_cons, IH. lia. Qed.

Lemma zsum_scale {A} (l : list A) c f : zsum l (fun a => c * f a) = c * zsum l f.
Proof. induction l as [|a l IH]; [rewrite !zsum_nil; lia|]. rewrite !zsum_cons, IH. lia. Qed.

Lemma zsum_scale_r {A} (l : list A) c f : zsum l (fun a => f a * c) = zsum l f * c.
Proof. induction l as [|a l IH]; [reflexivity|]. rewrite !zsum_cons, IH. lia. Qed.

Lemma zsum_opp {A} (l : list A) f : zsum l (fun a => - f a) = - zsum l f.
Proof. induction l as [|a l IH]; [reflexivity|]. rewrite !zsum_cons, IH. lia. Qed.

Lemma zsum_zero {A} (l : list A) f : (forall a, In a l -> f a = 0) -> zsum l f = 0.
Proof.
  intros H. rewrite (zsum_ext_in l f (fun _ => 0)); auto. clear. induction l; [reflexivity|].
  rewrite zsum_cons. lia.
Qed.

Lemma zsum_nonneg {A} (l : list A) f : (forall a, In a l -> 0 <= f a) -> 0 <= zsum l f.
Proof.
  intros H. rewrite <- (zsum_zero l (fun _ => 0)) by auto. apply zsum_le_in. auto.
Qed.

Lemma zsum_app {A} (l r : list A) f : zsum (l ++ r) f = zsum l f + zsum r f.
Proof. induction l as [|a l IH]; [rewrite zsum_nil; reflexivity|]. cbn [app]. rewrite !zsum_cons, IH. lia. Qed.

Lemma zsum_map {A B} (l : list A) (g : A -> B) f : zsum (map g l) f = zsum l (fun a => f (g a)).
Proof. induction l as [|a l IH]; [reflexivity|]. cbn [map]. rewrite !zsum_cons, IH. reflexivity. Qed.

Lemma zsum_flat_map {A B} (l : list A) (g : A -> list B) f : zsum (flat_map g l) f = zsum l (fun a => zsum (g a) f).
Proof. induction l as [|a l IH]; [reflexivity|]. cbn [flat_map]. rewrite zsum_app, zsum_cons, IH. reflexivity. Qed.

Lemma zsum_swap {A B} (l : list A) (r : list B) f :
  zsum l (fun a => zsum r (fun b => f a b)) = zsum r (fun b => zsum l (fun a => f a b)).
Proof.
  induction l as [|a l IH].
  - symmetry. apply zsum_zero. reflexivity.
  - rewrite zsum_cons, IH, <- zsum_plus. apply zsum_ext. intros b. rewrite zsum_cons. reflexivity.
Qed.

Lemma zsum_perm {A} (l r : list A) f : Permutation l r -> zsum l f = zsum r f.
Proof. induction 1; rewrite ?zsum_cons; lia. Qed.

Lemma zsum_filter {A} (l : list A) p f : zsum (filter p l) f = zsum l (fun a => if p a then f a else 0).
Proof.
  induction l as [|a l IH]; [reflexivity|]. cbn [filter]. destruct (p a) eqn:E; rewrite ?zsum_cons, E, IH; lia.
Qed.

Lemma zsum_mem {A} (l : list A) f a : In a l -> (forall b, In b l -> 0 <= f b) -> f a <= zsum l f.
Proof.
  induction l as [|b l IH]; intros I H; destruct I; rewrite zsum_cons.
  - subst. assert (0 <= zsum l f) by (apply zsum_nonneg; auto with datatypes). lia.
  - assert (0 <= f b) by auto with datatypes. assert (f a <= zsum l f) by auto with datatypes. lia.
Qed.

(* Of not negative numbers, a list without repetitions has no larger sum than one that has all its elements. *)
Lemma zsum_incl {A} (F L : list A) f :
  NoDup F -> incl F L -> (forall a, In a L -> 0 <= f a) -> zsum F f <= zsum L f.
Proof.
  revert L. induction F as [|a F IH]; intros L ND H P.
  - rewrite zsum_nil. apply zsum_nonneg. auto.
  - inversion ND as [|? ? NI ND']; subst.
    destruct (in_split a L) as (l1 & l2 & E). { apply H. left. reflexivity. }
    subst L. rewrite zsum_cons, zsum_app, zsum_cons.
    assert (zsum F f <= zsum (l1 ++ l2) f) as IF.
    { apply IH; auto.
      - intros b Hb. specialize (H b (or_intror Hb)). apply in_app_or in H as [|[|]]; subst; auto with datatypes. contradiction.
      - intros b Hb. apply P. apply in_app_or in Hb as []; auto with datatypes. }
    rewrite zsum_app in IF. lia.
Qed.

(* ids *)
Lemma counting_in from c x : In x (counting from c) <-> from <= x < from + Z.of_nat c.
Proof.
  revert from. induction c as [|c IH]; intros from; cbn [counting In].
  - lia.
  - rewrite IH. lia.
Qed.

Lemma ids_in n x : In x (ids n) <-> 0 <= x < n.
Proof. unfold ids. rewrite counting_in. lia. Qed.

Lemma counting_nodup from c : NoDup (counting from c).
Proof.
  revert from. induction c as [|c IH]; intros from; cbn [counting]; constructor; auto.
  rewrite counting_in. lia.
Qed.

Lemma ids_nodup n : NoDup (ids n).
Proof. apply counting_nodup. Qed.

(* A sum in which one key alone counts. *)
Lemma zsum_only (l : list Z) d f : NoDup l -> In d l -> zsum l (fun x => if Z.eqb x d then f x else 0) = f d.
Proof.
  induction l as [|a l IH]; intros ND I; destruct I; inversion ND; subst; rewrite zsum_cons.
  - rewrite Z.eqb_refl. rewrite zsum_zero; [lia|]. intros x Hx. destruct (Z.eqb_spec x d); subst; [contradiction|reflexivity].
  - destruct (Z.eqb_spec a d); subst; [contradiction|]. rewrite IH; auto.
Qed.

(* Only one element counts. *)
Lemma zsum_single {A} (l : list A) a f : NoDup l -> In a l -> (forall b, In b l -> b <> a -> f b = 0) -> zsum l f = f a.
Proof.
  induction l as [|b l IH]; intros ND I H; [destruct I|]. inversion ND as [|? ? NI ND']; subst. rewrite zsum_cons. destruct I as [->|I].
  - rewrite zsum_zero; [lia|]. intros x Hx. apply H; [right; exact Hx|]. intros ->. contradiction.
  - rewrite (H b (or_introl eq_refl)), IH; auto; [intros x Hx; apply H; right; exact Hx|]. intros ->. contradiction.
Qed.

Lemma zsum_key {B} (l : list (Z * B)) n b f :
  NoDup (map fst l) -> In (n, b) l -> zsum l (fun e => if Z.eqb (fst e) n then f e else 0) = f (n, b).
Proof.
  induction l as [|a l IH]; intros ND I; destruct I; cbn [map] in ND; inversion ND as [|? ? NI ND']; subst; rewrite zsum_cons; cbn [fst].
  - rewrite Z.eqb_refl. rewrite zsum_zero; [lia|]. intros [x y] Hx. cbn [fst]. destruct (Z.eqb_spec x n); subst; auto.
    destruct NI. exact (in_map fst l (n, y) Hx).
  - destruct (Z.eqb_spec (fst a) n) as [E|E]; [|rewrite IH; auto]. destruct NI. rewrite E. exact (in_map fst l (n, b) H).
Qed.

Lemma zsum_no_key {B} (l : list (Z * B)) n f :
  ~ In n (map fst l) -> zsum l (fun e => if Z.eqb (fst e) n then f e else 0) = 0.
Proof.
  intros H. apply zsum_zero. intros e He. destruct (Z.eqb_spec (fst e) n); auto. destruct H. subst. apply in_map. assumption.
Qed.

(* Weighted sums: coefficients against a function of the unit. What is missing at the end of a list is 0. *)
Definition against {A} (units : list A) (k : list Z) (f : A -> Z) : Z := zsum (combine units k) (fun p => snd p * f (fst p)).

Fixpoint vadd (a b : list Z) : list Z :=
  match a, b with
  | [], _ => b
  | _, [] => a
  | x :: a', y :: b' => x + y :: vadd a' b'
  end.
Definition vscale (c : Z) (a : list Z) : list Z := map (Z.mul c) a.

Lemma against_vadd {A} (units : list A) a b f : against units (vadd a b) f = against units a f + against units b f.
Proof.
  unfold against. revert a b. induction units as [|u units IH]; intros [|x a] [|y b]; cbn [vadd combine];
    rewrite ?zsum_nil, ?zsum_cons; cbn [fst snd]; try lia. rewrite IH. lia.
Qed.

Lemma against_vscale {A} (units : list A) c a f : against units (vscale c a) f = c * against units a f.
Proof.
  unfold against, vscale. revert a. induction units as [|u units IH]; intros [|x a]; cbn [map combine]; rewrite ?zsum_nil, ?zsum_cons; cbn [fst snd]; try lia.
  rewrite IH. lia.
Qed.

Lemma against_map {A} (units : list A) g f : against units (map g units) f = zsum units (fun u => g u * f u).
Proof. unfold against. induction units as [|u units IH]; cbn [map combine]; rewrite ?zsum_cons; [reflexivity|]. cbn [fst snd]. rewrite IH. reflexivity. Qed.

Lemma vadd_map {A} (l : list A) f g : vadd (map f l) (map g l) = map (fun a => f a + g a) l.
Proof. induction l; cbn [map vadd]; [reflexivity|]. rewrite IHl. reflexivity. Qed.

Lemma vscale_map {A} (l : list A) c f : vscale c (map f l) = map (fun a => c * f a) l.
Proof. unfold vscale. rewrite map_map. reflexivity. Qed.

Lemma in_combine_map {A B} (l : list A) (f : A -> B) a b : In (a, b) (combine l (map f l)) -> b = f a /\ In a l.
Proof.
  induction l as [|x l IH]; cbn [map combine In]; [tauto|]. intros [E|H]; [inversion E; subst; auto|]. destruct (IH H). auto.
Qed.

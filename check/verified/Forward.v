(* The evaluation of a network is the network; rows grouped by sender are the rows; the step-by-step functions of the checker. *)
From Coq Require Import ZArith List Bool Lia Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker.
Import ListNotations.
Open Scope Z_scope.

Lemma receive_spec l width sent m (f : term Z -> Z -> Z -> Z) :
  (forall tm n, In tm sent -> get (snd tm) n = map (f (fst tm) n) (ids width)) ->
  receive width l sent m =
  map (fun j => bias l m j + zsum sent (fun tm => zsum (operator (fst tm) m) (fun e => snd e * f (fst tm) (fst e) j))) (ids width).
Proof.
  intros H. unfold receive.
  assert (forall t tb h es, (forall n, get tb n = map (f t n) (ids width)) ->
    fold_left (fun acc e => vadd acc (vscale (snd e) (get tb (fst e)))) es (map h (ids width)) =
    map (fun j => h j + zsum es (fun e => snd e * f t (fst e) j)) (ids width)) as One.
  { intros t tb h es G. revert h. induction es as [|e es IH]; intros h; cbn [fold_left].
    - apply map_ext. intros j. rewrite zsum_nil. lia.
    - rewrite G, vscale_map, vadd_map, IH. apply map_ext. intros j. rewrite zsum_cons. lia. }
  generalize (bias l m). intros h. revert h. induction sent as [|tm sent IH]; intros h; cbn [fold_left].
  - apply map_ext. intros j. rewrite zsum_nil. lia.
  - rewrite (One (fst tm)) by (intros n; apply H; left; reflexivity). rewrite IH by (intros; apply H; right; assumption).
    apply map_ext. intros j. rewrite zsum_cons. lia.
Qed.

(* The lists of what rows have are these rows, and what the first layer sends is what they make of it. *)
Definition reads (first : layer Z) (read : Z -> Z -> list (Z * Z)) (V : zrows) : Prop :=
  forall n w, zsum (read (inputs first) n) (fun p => snd p * w (fst p)) = zsum (ids (inputs first)) (fun i => V n i * w i).
Definition sends (first : layer Z) (width : Z) (V : zrows) (sent : list (term Z * table (list Z))) : Prop :=
  map fst sent = terms first /\
  forall tm n, In tm sent -> get (snd tm) n = map (fun j => zsum (ids (inputs first)) (fun i => V n i * weight (fst tm) i j)) (ids width).

Lemma messages_spec first width read V t n : reads first read V ->
  messages t width (read (inputs first)) n = map (fun j => zsum (ids (inputs first)) (fun i => V n i * weight t i j)) (ids width).
Proof. intros R. unfold messages. apply map_ext. intros j. exact (R n (fun i => weight t i j)). Qed.

Lemma sent_from_spec first width read V : reads first read V -> sends first width V (sent_from first width read).
Proof.
  intros R. unfold sent_from. split; [rewrite map_map; cbn [fst]; apply map_id|]. intros tm n I. apply in_map_iff in I as (t & <- & _). cbn [fst snd].
  rewrite get_tabulate. apply messages_spec. exact R.
Qed.

Lemma sent_after_spec F first width read V W sent : sends first width V sent -> reads first read W ->
  (forall n, ~ In n (map fst F) -> forall d, V n d = W n d) -> sends first width W (sent_after F first width read sent).
Proof.
  intros [S1 S2] R E. unfold sent_after. split; [rewrite map_map; cbn [fst]; exact S1|]. intros tm n I. apply in_map_iff in I as (t & <- & I). cbn [fst snd].
  rewrite get_tabulate. destruct (existsb _ F) eqn:EX; [apply messages_spec; exact R|]. rewrite (S2 t n I). apply map_ext. intros j. apply zsum_ext. intros i.
  rewrite E; [reflexivity|]. intros IN. apply in_map_iff in IN as (f & Ef & IN). assert (existsb (fun f => Z.eqb (fst f) n) F = true); [|congruence].
  apply existsb_exists. exists f. split; [exact IN|]. apply Z.eqb_eq. exact Ef.
Qed.

Lemma first_spec first width V sent m : sends first width V sent -> receive width first sent m = map (zvalue [first] V m) (ids width).
Proof.
  intros [S1 S2]. rewrite (receive_spec first width sent m (fun t n j => zsum (ids (inputs first)) (fun i => V n i * weight t i j)) S2).
  apply map_ext. intros j. cbn [zvalue zpassed]. rewrite <- S1, zsum_map. reflexivity.
Qed.

Lemma zforward_spec net sent V first w width m : bottom net width = Some (first, w) -> sends first w V sent ->
  get (zforward net sent width) m = map (zvalue net V m) (ids width).
Proof.
  revert width m. induction net as [|l below IH]; intros width m B S; [discriminate|]. cbn [bottom] in B. cbn [zforward].
  destruct below as [|b below']; [inversion B; subst; rewrite get_tabulate; apply first_spec; exact S|]. rewrite get_tabulate.
  set (inner := zforward (b :: below') sent (inputs l)). set (values := fun n : Z => _).
  rewrite (receive_spec l width _ m (fun t n j => zsum (ids (inputs l)) (fun i => zpassed (b :: below') i (zvalue (b :: below') V n i) * weight t i j))).
  - apply map_ext. intros j. cbn [zvalue]. rewrite zsum_map. reflexivity.
  - intros tm n Hin. apply in_map_iff in Hin as (t & <- & _). cbn [fst snd]. rewrite get_tabulate. unfold messages.
    apply map_ext. intros j. unfold values, inner. rewrite (IH _ _ B S). rewrite zsum_filter, zsum_map. cbn [fst snd].
    rewrite (zsum_ext_in _ _ (fun p => zpassed (b :: below') (fst p) (zvalue (b :: below') V n (fst p)) * weight t (fst p) j)).
    + induction (ids (inputs l)) as [|i r IHr]; [reflexivity|]. cbn [map combine]. rewrite !zsum_cons. cbn [fst]. rewrite IHr. reflexivity.
    + intros [i z] Hp. apply in_combine_map in Hp as [-> _]. cbn [fst snd].
      destruct (Z.eqb_spec (zpassed (b :: below') i (zvalue (b :: below') V n i)) 0) as [->|]; cbn [negb]; lia.
Qed.

Lemma plain_reads first X : reads first (plain_rows X) (entries X).
Proof.
  intros n w. unfold plain_rows, entries. rewrite zsum_map, zsum_filter. apply zsum_ext. intros d. cbn [fst snd]. destruct (X n d); cbn [bit]; lia.
Qed.

(* each_one *)
Lemma each_one_got {A B} (f : A -> result B) l bs : each_one f l = Got bs -> Forall2 (fun a b => f a = Got b) l bs.
Proof.
  revert bs. induction l as [|a l IH]; intros bs; cbn [each_one]; [intros [= <-]; constructor|].
  unfold bind. destruct (f a) eqn:E; try discriminate. destruct (each_one f l) eqn:E2; try discriminate. intros [= <-].
  constructor; auto.
Qed.

Lemma each_one_impossible {A B} (f : A -> result B) l : each_one f l = Impossible -> exists a, In a l /\ f a = Impossible.
Proof.
  induction l as [|a l IH]; cbn [each_one]; [discriminate|]. unfold bind. destruct (f a) eqn:E; try discriminate.
  - destruct (each_one f l) eqn:E2; try discriminate. intros _. destruct IH as (x & ? & ?); auto. exists x. split; [right|]; assumption.
  - intros _. exists a. split; [left; reflexivity|assumption].
Qed.

Lemma bind_got {A B} (r : result A) (f : A -> result B) b : bind r f = Got b -> exists a, r = Got a /\ f a = Got b.
Proof. destruct r; cbn; try discriminate. eauto. Qed.

Lemma bind_impossible {A B} (r : result A) (f : A -> result B) : bind r f = Impossible -> r = Impossible \/ exists a, r = Got a /\ f a = Impossible.
Proof. destruct r; cbn; try discriminate; eauto. Qed.

Lemma zsum_forall2_le {A B} (R : A -> B -> Prop) l r f g :
  Forall2 R l r -> (forall a b, In a l -> R a b -> f a <= g b) -> zsum l f <= zsum r g.
Proof.
  intros F H. induction F as [|a b l r E F IH]; [reflexivity|]. rewrite !zsum_cons.
  assert (f a <= g b) by (apply H; [left; reflexivity|assumption]).
  assert (zsum l f <= zsum r g) by (apply IH; intros; apply H; [right|]; assumption). lia.
Qed.

Lemma zsum_forall2 {A B} (R : A -> B -> Prop) l r f g :
  Forall2 R l r -> (forall a b, In a l -> R a b -> f a = g b) -> zsum l f = zsum r g.
Proof.
  intros F H. induction F as [|a b l r E F IH]; [reflexivity|]. rewrite !zsum_cons.
  rewrite (H a b) by (auto with datatypes). rewrite IH; auto with datatypes.
Qed.

(* Groups have the elements of the list. *)
Lemma gather_in {A} (l : list (Z * A)) n g x : In (n, g) (gather l) -> In x g -> In (n, x) l.
Proof.
  revert n g x. induction l as [|[m a] l IH]; intros n g x; [intros []|]. cbn [gather].
  destruct (gather l) as [|[m' g'] groups] eqn:E.
  - intros [H|[]]. inversion H; subst. intros [<-|[]]. left. reflexivity.
  - destruct (Z.eqb_spec m m') as [->|].
    + intros [H|H].
      * inversion H; subst. intros [<-|K]; [left; reflexivity|]. right. apply (IH n g'); [left; reflexivity|assumption].
      * intros K. right. apply (IH n g); [right; assumption|assumption].
    + intros [H|H].
      * inversion H; subst. intros [<-|[]]. left. reflexivity.
      * intros K. right. apply (IH n g); assumption.
Qed.

Lemma group_in {A} (l : list (Z * A)) n g x : In (n, g) (group l) -> In x g -> In (n, x) l.
Proof. unfold group. intros H K. apply (Permutation_in _ (sort_perm l)). apply (gather_in _ n g); assumption. Qed.

(* The links of a node are its rows. *)
Definition links_effect (X : Z -> Z -> bool) (rows : list (Z * list (ready * Z))) (j : Z) (f : flip) : Z :=
  change X (fst f) (snd f) * zsum rows (fun r => if Z.eqb (fst r) (fst f) then weights (snd r) j (snd f) else 0).

Lemma numbered_sum first f : zsum (numbered first) (fun t => f (snd t)) = zsum (terms first) f.
Proof.
  unfold numbered. assert (length (ids (Z.of_nat (length (terms first)))) = length (terms first)) as L.
  { unfold ids. rewrite Nat2Z.id. generalize 0. induction (length (terms first)); intros z; cbn [counting length]; auto. }
  revert L. generalize (ids (Z.of_nat (length (terms first)))). induction (terms first) as [|t ts IH]; intros [|i r] L; try discriminate; [reflexivity|].
  cbn [combine]. rewrite !zsum_cons. cbn [snd]. rewrite IH; auto.
Qed.

Lemma links_effect_spec first size width X m j f :
  links_effect X (links (all_ready size width first) m) j f = effect first X m j f.
Proof.
  unfold links_effect, effect, links. f_equal.
  set (G := fun (n : Z) (e : ready * Z) => if Z.eqb n (fst f) then snd e * weight (source (fst e)) (snd f) j else 0).
  rewrite (zsum_ext _ _ (fun r => zsum (snd r) (G (fst r)))).
  - rewrite group_sum, zsum_flat_map. unfold all_ready. rewrite zsum_map, <- numbered_sum. apply zsum_ext. intros t. rewrite zsum_map. cbn [source make_ready fst snd].
    apply zsum_ext. intros e. unfold G. cbn [fst snd source make_ready]. reflexivity.
  - intros r. unfold G, weights. destruct (Z.eqb (fst r) (fst f)); [reflexivity|]. symmetry. apply zsum_zero. reflexivity.
Qed.

Lemma links_ready ts m n grp t a : In (n, grp) (links ts m) -> In (t, a) grp -> In t ts.
Proof.
  intros H K. pose proof (group_in _ n grp (t, a) H K) as I. apply in_flat_map in I as (t' & I1 & I2).
  apply in_map_iff in I2 as (e & E & _). inversion E; subst. assumption.
Qed.

Lemma links_effect_row X rows j n d grp : NoDup (map fst rows) -> In (n, grp) rows ->
  links_effect X rows j (n, d) = change X n d * weights grp j d.
Proof.
  intros ND I. unfold links_effect. cbn [fst snd]. f_equal.
  apply (zsum_key rows n grp (fun r => weights (snd r) j d)); assumption.
Qed.

Lemma links_effect_no_row X rows j n d : ~ In n (map fst rows) -> links_effect X rows j (n, d) = 0.
Proof.
  intros NI. unfold links_effect. cbn [fst snd]. rewrite (zsum_no_key rows n (fun r => weights (snd r) j d)) by assumption. lia.
Qed.

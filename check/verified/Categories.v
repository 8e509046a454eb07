(* What the checker accepts about changes of categories is true of the rows with categories replaced. *)
From Coq Require Import ZArith QArith List Bool Lia.
From Verified Require Import Spec Sums Tables Rules Integers Checker Leaf Trees Sound Floats Widen.
Import ListNotations.
Open Scope Z_scope.

Lemma same_category_spec a b : same_category a b = true <-> a = b.
Proof.
  destruct a, b; cbn [same_category]; rewrite ?Z.eqb_eq; split; intros H; try discriminate; try reflexivity; [subst; reflexivity|inversion H; reflexivity].
Qed.

Definition is (a : option Z) (d : Z) : Z := match a with Some x => bit (Z.eqb x d) | None => 0 end.

(* The place of an element in a list. *)
Definition same_change (a b : category_change) : bool :=
  Z.eqb (fst a) (fst b) && same_category (fst (snd a)) (fst (snd b)) && same_category (snd (snd a)) (snd (snd b)).
Lemma same_change_spec a b : same_change a b = true <-> a = b.
Proof.
  destruct a as [g [o c]], b as [g' [o' c']]. unfold same_change. cbn [fst snd]. rewrite !andb_true_iff, Z.eqb_eq, !same_category_spec.
  split; [intros [[-> ->] ->]; reflexivity|intros [= -> -> ->]; auto].
Qed.
Fixpoint place_of (a : category_change) (l : list category_change) : nat :=
  match l with [] => O | b :: rest => if same_change a b then O else S (place_of a rest) end.
Lemma place_of_spec a l : In a l -> nth_error l (place_of a l) = Some a.
Proof.
  induction l as [|b l IH]; [intros []|]. intros I. cbn [place_of]. destruct (same_change a b) eqn:E.
  - apply same_change_spec in E. subst b. reflexivity.
  - destruct I as [->|I]; [|exact (IH I)]. assert (same_change a a = true) by (apply same_change_spec; reflexivity). congruence.
Qed.

Lemma nodup_app {A} (l r : list A) : NoDup l -> NoDup r -> (forall a, In a l -> ~ In a r) -> NoDup (l ++ r).
Proof.
  intros L R H. induction L as [|a l N L IH]; cbn [app]; [exact R|]. constructor.
  - intros I. apply in_app_or in I as [I|I]; [contradiction|]. exact (H a (or_introl eq_refl) I).
  - apply IH. intros b Hb. apply H. right. exact Hb.
Qed.

Lemma counting_app a b c : counting a (b + c) = counting a b ++ counting (a + Z.of_nat b) c.
Proof.
  revert a. induction b as [|b IH]; intros a; cbn [plus counting app]; [f_equal; lia|]. rewrite IH. do 3 f_equal. lia.
Qed.

Lemma zpre_cons l below X m j : zpre (l :: below) X m j = bias l m j + zsum (terms l) (fun t => zsum (operator t m) (fun e => snd e *
  zsum (ids (inputs l)) (fun i => zpassed below i (zpre below X (fst e) i) * weight t i j))).
Proof. reflexivity. Qed.

Section Grouped.
  Variables (P : problem) (G : grouping).
  Hypothesis ONE : one_each P G = true.
  Hypothesis SIZE : 0 <= count P.
  Let X := attributes P.
  Let W := fst (widened P G).
  Let change := snd (widened P G).
  Let all := changes P G.

  Lemma change_spec d : change d = change_at P all d.
  Proof. unfold change, widened. cbn [snd]. rewrite get_tabulate. reflexivity. Qed.

  Lemma members_in g d : In d (members P G g) <-> 0 <= d < count P /\ group_of G d = g.
  Proof. unfold members. rewrite filter_In, ids_in, Z.eqb_eq. reflexivity. Qed.

  Definition fits (g : Z) (a : option Z) : Prop := match a with Some d => 0 <= d < count P /\ group_of G d = g | None => spared P G g = true end.
  Lemma choices_in g a : In a (choices P G g) <-> fits g a.
  Proof.
    unfold choices. rewrite in_app_iff, in_map_iff. destruct a as [d|]; cbn [fits].
    - rewrite <- members_in. split; [intros [H|(x & [= ->] & H)]; [destruct (spared P G g); [destruct H as [H|[]]; discriminate|destruct H]|exact H]|eauto].
    - destruct (spared P G g); cbn [In]; split; intros H; auto; [destruct H as [[]|(x & H & _)]; discriminate|discriminate].
  Qed.

  Lemma changes_in g o c : In (g, (o, c)) all <-> 0 <= g < groups G /\ fits g o /\ fits g c /\ o <> c.
  Proof.
    unfold all, changes. rewrite in_flat_map. split.
    - intros (g' & Ig & H). apply in_flat_map in H as (o' & Io & H). apply in_map_iff in H as (c' & [= -> -> ->] & H).
      apply filter_In in H as [Ic N]. apply ids_in in Ig. apply choices_in in Io, Ic. apply negb_true_iff in N.
      repeat split; auto; try lia. intros ->. assert (same_category c c = true) by (apply same_category_spec; reflexivity). congruence.
    - intros (Hg & Ho & Hc & N). exists g. split; [apply ids_in; exact Hg|]. apply in_flat_map. exists o. split; [apply choices_in; exact Ho|].
      apply in_map_iff. exists c. split; [reflexivity|]. apply filter_In. split; [apply choices_in; exact Hc|].
      apply negb_true_iff. destruct (same_category o c) eqn:E; [|reflexivity]. apply same_category_spec in E. contradiction.
  Qed.

  Lemma change_in d g o c : change d = Some (g, (o, c)) -> count P <= d < count W /\ 0 <= g < groups G /\ fits g o /\ fits g c /\ o <> c.
  Proof.
    rewrite change_spec. unfold change_at. destruct (Z.ltb_spec d (count P)); [discriminate|]. intros E.
    pose proof (nth_error_In _ _ E) as I. assert (Z.to_nat (d - count P) < length all)%nat as L by (apply nth_error_Some; congruence).
    split; [|apply changes_in; exact I]. unfold W, widened. cbn [fst count]. fold all. lia.
  Qed.

  Lemma change_below d : d < count P -> change d = None.
  Proof. intros H. rewrite change_spec. unfold change_at. destruct (Z.ltb_spec d (count P)); [reflexivity|lia]. Qed.

  Definition number_of (a : category_change) : Z := count P + Z.of_nat (place_of a all).
  Lemma number_of_spec a : In a all -> change (number_of a) = Some a.
  Proof.
    intros I. rewrite change_spec. unfold change_at, number_of. destruct (Z.ltb_spec (count P + Z.of_nat (place_of a all)) (count P)); [lia|].
    replace (Z.to_nat _) with (place_of a all) by lia. apply place_of_spec. exact I.
  Qed.

  Lemma permitted_widened n d : permitted W n d = true <-> exists g o c, change d = Some (g, (o, c)) /\ 0 <= n < nodes_of G /\
    category P G X n g = o /\ allowed P n o = true /\ allowed P n c = true.
  Proof.
    unfold W, widened. cbn [fst permitted]. rewrite get_tabulate. fold all. rewrite <- change_spec.
    destruct (change d) as [[g [o c]]|].
    - rewrite get_tabulate, get_tabulate, !andb_true_iff, Z.leb_le, Z.ltb_lt, same_category_spec. fold X. split.
      + intros [[[[H1 H2] H3] H4] H5]. exists g, o, c. auto.
      + intros (g' & o' & c' & [= <- <- <-] & H1 & H2 & H3 & H4). tauto.
    - split; [discriminate|]. intros (g & o & c & H & _). discriminate H.
  Qed.

  (* Rows that have at most one category of a group. *)
  Definition single_in (Y : Z -> Z -> bool) (n g : Z) : Prop :=
    forall d e, 0 <= d < count P -> 0 <= e < count P -> group_of G d = g -> group_of G e = g -> Y n d = true -> Y n e = true -> d = e.

  Lemma graph_single n g : 0 <= n < nodes_of G -> 0 <= g < groups G -> single_in X n g.
  Proof.
    intros Hn Hg d e Hd He Gd Ge Xd Xe. unfold one_each in ONE. rewrite forallb_forall in ONE. specialize (ONE n (proj2 (ids_in _ _) Hn)).
    rewrite forallb_forall in ONE. specialize (ONE g (proj2 (ids_in _ _) Hg)). unfold at_most_one in ONE. fold X in ONE.
    assert (In d (filter (X n) (members P G g))) as Id by (apply filter_In; split; [apply members_in; auto|exact Xd]).
    assert (In e (filter (X n) (members P G g))) as Ie by (apply filter_In; split; [apply members_in; auto|exact Xe]).
    destruct (filter (X n) (members P G g)) as [|a [|b r]]; [destruct Id| |discriminate].
    destruct Id as [<-|[]], Ie as [<-|[]]. reflexivity.
  Qed.

  Lemma category_is Y n g d : single_in Y n g -> 0 <= d < count P -> is (category P G Y n g) d = if Z.eqb (group_of G d) g then bit (Y n d) else 0.
  Proof.
    intros S Hd. unfold category. destruct (List.find (Y n) (members P G g)) as [x|] eqn:E; cbn [is].
    - apply find_some in E as [I Yx]. apply members_in in I as [Hx Gx]. destruct (Z.eqb_spec x d) as [->|N].
      + rewrite Gx, Z.eqb_refl, Yx. reflexivity.
      + destruct (Z.eqb_spec (group_of G d) g) as [Gd|]; [|reflexivity]. destruct (Y n d) eqn:Yd; [|reflexivity]. exfalso. apply N. apply S; auto.
    - destruct (Z.eqb_spec (group_of G d) g) as [Gd|]; [|reflexivity]. rewrite (find_none _ _ E d); [reflexivity|]. apply members_in. auto.
  Qed.

  Lemma category_lacks Y n g : category P G Y n g = None <-> lacks P G Y n g.
  Proof.
    unfold category, lacks. split.
    - intros E d Hd Gd. apply (find_none _ _ E). apply members_in. auto.
    - intros L. destruct (List.find (Y n) (members P G g)) as [x|] eqn:E; [|reflexivity]. apply find_some in E as [I Yx]. apply members_in in I as [Hx Gx].
      rewrite (L x Hx Gx) in Yx. discriminate.
  Qed.

  Lemma category_fits Y n g : (lacks P G Y n g -> spared P G g = true) -> fits g (category P G Y n g).
  Proof.
    intros S. destruct (category P G Y n g) as [x|] eqn:E; cbn [fits].
    - unfold category in E. apply find_some in E as [I _]. apply members_in. exact I.
    - apply S, category_lacks, E.
  Qed.

  Lemma spared_spec g : spared P G g = true <-> exists m, 0 <= m < nodes_of G /\ lacks P G X m g.
  Proof.
    unfold spared. rewrite existsb_exists. split; intros (m & H1 & H2); exists m.
    - apply ids_in in H1. split; [exact H1|]. apply category_lacks. unfold none_of in H2. fold X in H2. destruct (category P G X m g); [discriminate|reflexivity].
    - split; [apply ids_in; exact H1|]. unfold none_of. fold X. apply category_lacks in H2. rewrite H2. reflexivity.
  Qed.

  Lemma is_bit a d b : is a d = bit b -> b = same_category a (Some d).
  Proof. destruct a as [x|]; cbn [is same_category]; [destruct (Z.eqb x d)|]; destruct b; cbn [bit]; intros H; try reflexivity; lia. Qed.

  (* Changes, and the rows that they make. *)
  Definition entry (f : flip) (d : Z) : Z := match change (snd f) with Some (_, (o, c)) => is c d - is o d | None => 0 end.
  Definition describes (F : list flip) (Y : Z -> Z -> bool) : Prop :=
    forall n d, 0 <= d < count P -> bit (Y n d) = bit (X n d) + zsum F (fun f => if Z.eqb (fst f) n then entry f d else 0).

  Lemma weighed (w : Z -> Z) g a : fits g a -> zsum (ids (count P)) (fun i => is a i * w i) = match a with Some d => w d | None => 0 end.
  Proof.
    destruct a as [d|]; cbn [fits is]; intros H; [|apply zsum_zero; reflexivity].
    rewrite (zsum_ext _ _ (fun i => if Z.eqb i d then w i else 0)) by (intros i; rewrite Z.eqb_sym; destruct (Z.eqb i d); cbn [bit]; lia).
    apply zsum_only; [apply ids_nodup|]. apply ids_in. apply H.
  Qed.

  Section Evaluated.
    Variables (F : list flip) (Y : Z -> Z -> bool).
    Hypothesis ADMISSIBLE : admissible W F.
    Hypothesis DESCRIBES : describes F Y.

    Lemma row_value (t : term Z) n j :
      zsum (ids (count W)) (fun i => bit (flipped (attributes W) F n i) * weight (widen_term change t) i j) =
      zsum (ids (count P)) (fun i => bit (Y n i) * weight t i j).
    Proof.
      destruct ADMISSIBLE as (ND & PF & _).
      rewrite (zsum_ext_in (ids (count P)) _ (fun i => bit (X n i) * weight t i j + zsum F (fun f => if Z.eqb (fst f) n then entry f i * weight t i j else 0))).
      2: { intros i Hi. apply ids_in in Hi. rewrite (DESCRIBES n i Hi), Z.mul_add_distr_r, <- zsum_scale_r. f_equal. apply zsum_ext.
           intros f. destruct (Z.eqb (fst f) n); lia. }
      rewrite zsum_plus, zsum_swap.
      rewrite (zsum_ext _ _ (fun i => bit (attributes W n i) * weight (widen_term change t) i j
        + zsum F (fun f => if same (n, i) f then Integers.change (attributes W) n i * weight (widen_term change t) i j else 0))).
      2: { intros i. rewrite flipped_bit by exact ND. rewrite Z.mul_add_distr_r, <- zsum_scale_r. f_equal. apply zsum_ext. intros f. destruct (same (n, i) f); lia. }
      rewrite zsum_plus, (zsum_swap (ids (count W)) F). f_equal.
      - unfold ids at 1. replace (count W) with (count P + Z.of_nat (length all)) by reflexivity. rewrite Z2Nat.inj_add, Nat2Z.id by lia.
        rewrite counting_app, zsum_app. rewrite (zsum_zero (counting (0 + _) _)).
        + rewrite Z.add_0_r. apply zsum_ext_in. intros i Hi. apply ids_in in Hi. unfold W, widened. cbn [fst attributes].
          destruct (Z.ltb_spec i (count P)); [|lia]. cbn [andb widen_term weight]. rewrite change_below by lia. reflexivity.
        + intros i Hi. apply counting_in in Hi. unfold W, widened. cbn [fst attributes]. destruct (Z.ltb_spec i (count P)); [lia|]. cbn [andb bit]. lia.
      - apply zsum_ext_in. intros [n' d] Hf. destruct (PF _ Hf) as [Hp Hd]. cbn [fst snd] in *.
        apply permitted_widened in Hp as (g & o & c & Hc & _). destruct (change_in _ _ _ _ Hc) as (Hr & _ & Fo & Fc & _).
        unfold same. cbn [fst snd]. rewrite (Z.eqb_sym n n'). destruct (Z.eqb_spec n' n) as [->|]; cbn [andb]; [|rewrite !zsum_zero; reflexivity].
        rewrite (zsum_only (ids (count W)) d (fun i => Integers.change (attributes W) n i * weight (widen_term change t) i j) (ids_nodup _) (proj2 (ids_in _ _) Hd)).
        unfold entry. cbn [snd widen_term weight]. rewrite Hc.
        rewrite (zsum_ext _ _ (fun i => is c i * weight t i j + - (is o i * weight t i j))) by (intros; lia).
        rewrite zsum_plus, zsum_opp, (weighed (fun i => weight t i j) g c Fc), (weighed (fun i => weight t i j) g o Fo).
        unfold Integers.change, W, widened. cbn [fst attributes]. destruct (Z.ltb_spec d (count P)); [lia|]. cbn [andb]. unfold weight_of. destruct c, o; lia.
    Qed.

    Lemma widened_value net classes first w : bottom net classes = Some (first, w) -> inputs first = count P ->
      forall m j, zpre (widen change (count W) net) (flipped (attributes W) F) m j = zpre net Y m j.
    Proof.
      revert classes. induction net as [|l below IH]; intros classes B IN m j; [discriminate B|]. cbn [bottom widen] in *. destruct below as [|l' below'].
      - inversion B; subst l w. cbn [zpre widen_layer terms inputs bias zpassed]. f_equal. rewrite zsum_map. apply zsum_ext. intros t.
        apply zsum_ext. intros e. cbn [widen_term operator]. f_equal. rewrite IN. exact (row_value t (fst e) j).
      - specialize (IH (inputs l) B IN). rewrite !zpre_cons. f_equal. apply zsum_ext. intros t. apply zsum_ext. intros e. f_equal. apply zsum_ext. intros i.
        f_equal. rewrite IH. unfold zpassed. cbn [widen]. destruct below'; reflexivity.
    Qed.
  End Evaluated.

  (* Rows with categories replaced are made by changes. *)
  Section Made.
    Variable Y : Z -> Z -> bool.
    Hypothesis Y_MADE : recategorised P G Y.

    Definition change_of_group (n g : Z) : category_change := (g, (category P G X n g, category P G Y n g)).
    Definition changes_made : list flip := flat_map (fun n => map (fun g => (n, number_of (change_of_group n g))) (changed P G Y n)) (ids (nodes_of G)).

    Lemma made_single n g : 0 <= n < nodes_of G -> 0 <= g < groups G -> single_in Y n g.
    Proof. intros Hn Hg d e Hd He Gd Ge Yd Ye. destruct Y_MADE as (_ & H & _). apply (H n g d e); auto. Qed.

    Lemma changed_in n g : In g (changed P G Y n) -> 0 <= g < groups G /\ exists d, 0 <= d < count P /\ group_of G d = g /\ X n d <> Y n d.
    Proof.
      unfold changed. rewrite filter_In, ids_in. intros [Hg D]. split; [exact Hg|]. unfold differs in D. apply existsb_exists in D as (d & Hd & D).
      apply andb_prop in D as [D1 D2]. apply Z.eqb_eq in D1. apply ids_in in Hd. exists d. fold X in D2. repeat split; auto; try lia.
      intros E. rewrite E, xorb_nilpotent in D2. discriminate.
    Qed.

    Lemma made_change n g : 0 <= n < nodes_of G -> In g (changed P G Y n) -> In (change_of_group n g) all.
    Proof.
      intros Hn I. destruct (changed_in n g I) as (Hg & d & Hd & Gd & D). apply changes_in. split; [exact Hg|]. split; [|split].
      - apply category_fits. intros L. apply spared_spec. eauto.
      - apply category_fits. intros L. apply spared_spec. destruct Y_MADE as (_ & _ & H & _). apply (H n g); auto.
      - intros E. apply D. pose proof (category_is X n g d (graph_single n g Hn Hg) Hd) as E1. pose proof (category_is Y n g d (made_single n g Hn Hg) Hd) as E2.
        rewrite E, E2, Gd, Z.eqb_refl in E1. destruct (X n d), (Y n d); cbn [bit] in E1; congruence.
    Qed.

    Lemma made_in f : In f changes_made -> 0 <= fst f < nodes_of G /\ exists g, In g (changed P G Y (fst f)) /\ change (snd f) = Some (change_of_group (fst f) g) /\ snd f = number_of (change_of_group (fst f) g).
    Proof.
      unfold changes_made. rewrite in_flat_map. intros (n & Hn & I). apply ids_in in Hn. apply in_map_iff in I as (g & <- & I). cbn [fst snd].
      split; [exact Hn|]. exists g. split; [exact I|]. split; [|reflexivity]. apply number_of_spec, made_change; assumption.
    Qed.

    Lemma made_sum n h : zsum changes_made (fun f => if Z.eqb (fst f) n then h f else 0) =
      if Z.leb 0 n && Z.ltb n (nodes_of G) then zsum (changed P G Y n) (fun g => h (n, number_of (change_of_group n g))) else 0.
    Proof.
      unfold changes_made. rewrite zsum_flat_map.
      rewrite (zsum_ext _ _ (fun k => if Z.eqb k n then zsum (changed P G Y k) (fun g => h (k, number_of (change_of_group k g))) else 0)).
      2: { intros k. rewrite zsum_map. cbn [fst]. destruct (Z.eqb k n); [reflexivity|]. apply zsum_zero. reflexivity. }
      destruct (Z.leb_spec 0 n); cbn [andb]; [destruct (Z.ltb_spec n (nodes_of G))|].
      - apply (zsum_only _ n (fun k => zsum (changed P G Y k) (fun g => h (k, number_of (change_of_group k g))))); [apply ids_nodup|apply ids_in; lia].
      - apply zsum_zero. intros k Hk. apply ids_in in Hk. destruct (Z.eqb_spec k n); [lia|reflexivity].
      - apply zsum_zero. intros k Hk. apply ids_in in Hk. destruct (Z.eqb_spec k n); [lia|reflexivity].
    Qed.

    Lemma made_describes : describes changes_made Y.
    Proof.
      intros n d Hd. rewrite (made_sum n (fun f => entry f d)).
      destruct Y_MADE as (C1 & _).
      destruct (bool_dec (Y n d) (X n d)) as [E|E].
      - (* nothing changes: no group that changes has this attribute, or it is none of its categories *)
        rewrite E. assert ((if Z.leb 0 n && Z.ltb n (nodes_of G) then zsum (changed P G Y n) (fun g => entry (n, number_of (change_of_group n g)) d) else 0) = 0); [|lia].
        destruct (Z.leb_spec 0 n); cbn [andb]; [destruct (Z.ltb_spec n (nodes_of G))|]; try reflexivity.
        apply zsum_zero. intros g I. unfold entry. cbn [snd]. rewrite number_of_spec by (apply made_change; auto; lia). unfold change_of_group.
        destruct (changed_in n g I) as (Hg & _). rewrite (category_is X n g d (graph_single n g ltac:(lia) Hg) Hd), (category_is Y n g d (made_single n g ltac:(lia) Hg) Hd), E. lia.
      - destruct (C1 n d E) as (Hn & _ & Hg & _). destruct (Z.leb_spec 0 n); [|lia]. destruct (Z.ltb_spec n (nodes_of G)); [|lia]. cbn [andb].
        assert (In (group_of G d) (changed P G Y n)) as I.
        { unfold changed. apply filter_In. split; [apply ids_in; exact Hg|]. unfold differs. apply existsb_exists. exists d. split; [apply ids_in; exact Hd|].
          rewrite Z.eqb_refl. cbn [andb]. fold X. destruct (X n d), (Y n d); try reflexivity; contradiction E; reflexivity. }
        assert (NoDup (changed P G Y n)) as ND by (apply NoDup_filter, ids_nodup).
        rewrite (zsum_single _ (group_of G d) _ ND I).
        + unfold entry. cbn [snd]. rewrite number_of_spec by (apply made_change; auto). unfold change_of_group.
          rewrite (category_is X n _ d (graph_single n _ Hn Hg) Hd), (category_is Y n _ d (made_single n _ Hn Hg) Hd), Z.eqb_refl. lia.
        + intros g Ig Ng. unfold entry. cbn [snd]. rewrite number_of_spec by (apply made_change; auto). unfold change_of_group.
          destruct (changed_in n g Ig) as (Hg' & _). rewrite (category_is X n g d (graph_single n g Hn Hg') Hd), (category_is Y n g d (made_single n g Hn Hg') Hd).
          destruct (Z.eqb_spec (group_of G d) g); [congruence|reflexivity].
    Qed.

    Lemma made_node_size n : size (of_node n changes_made) = if Z.leb 0 n && Z.ltb n (nodes_of G) then Z.of_nat (length (changed P G Y n)) else 0.
    Proof. rewrite size_of_node, (made_sum n (fun _ => 1)), size_sum. reflexivity. Qed.

    Lemma NoDup_made : NoDup changes_made.
    Proof.
      assert (forall ns, NoDup ns -> (forall n, In n ns -> 0 <= n < nodes_of G) ->
        NoDup (flat_map (fun n => map (fun g => (n, number_of (change_of_group n g))) (changed P G Y n)) ns)) as K; [|apply K; [apply ids_nodup|intros n H; apply ids_in; exact H]].
      induction ns as [|n ns IH]; intros ND H; cbn [flat_map]; [constructor|]. inversion ND as [|? ? NI ND']; subst.
      apply nodup_app.
      - specialize (H n (or_introl eq_refl)). assert (NoDup (changed P G Y n)) as NC by (apply NoDup_filter, ids_nodup).
        assert (forall g, In g (changed P G Y n) -> change (number_of (change_of_group n g)) = Some (change_of_group n g)) as K
          by (intros g Hg; apply number_of_spec, made_change; assumption).
        induction NC as [|g gs Ng NC IHg]; cbn [map]; constructor.
        + intros I. apply in_map_iff in I as (g' & E & I). assert (change_of_group n g = change_of_group n g') as Eg.
          { pose proof (K g (or_introl eq_refl)) as K1. pose proof (K g' (or_intror I)) as K2. inversion E as [E']. rewrite E' in K2. congruence. }
          unfold change_of_group in Eg. inversion Eg. subst g'. contradiction.
        + apply IHg. intros x Hx. apply K. right. exact Hx.
      - apply IH; auto. intros k Hk. apply H. right. exact Hk.
      - intros f I1 I2. apply in_map_iff in I1 as (g & <- & _). apply in_flat_map in I2 as (n' & Hn' & I2). apply in_map_iff in I2 as (g' & E & _).
        inversion E. subst n'. contradiction.
    Qed.

    Lemma made_admissible : admissible W changes_made.
    Proof.
      destruct Y_MADE as (C1 & _ & _ & C4 & C5). split; [exact NoDup_made|]. split; [|split].
      - intros f I. destruct (made_in f I) as (Hn & g & Ig & Hc & _). destruct (changed_in _ g Ig) as (Hg & _).
        pose proof (made_change (fst f) g Hn Ig) as IC. unfold change_of_group in IC. apply changes_in in IC as (_ & Fo & Fc & N).
        destruct (change_in _ _ _ _ Hc) as (Hr & _).
        assert (forall d, 0 <= d < count P -> is (category P G X (fst f) g) d <> is (category P G Y (fst f) g) d -> permitted P (fst f) d = true) as K.
        { intros d Hd D. apply (C1 (fst f) d). rewrite (category_is X _ g d (graph_single _ g Hn Hg) Hd), (category_is Y _ g d (made_single _ g Hn Hg) Hd) in D.
          intros E. apply D. fold X in E. rewrite E. reflexivity. }
        split; [|unfold W in *; lia]. apply permitted_widened. exists g, (category P G X (fst f) g), (category P G Y (fst f) g). split; [exact Hc|]. split; [exact Hn|].
        split; [reflexivity|]. split.
        + destruct (category P G X (fst f) g) as [d|]; [|reflexivity]. cbn [fits allowed] in *. apply K; [apply Fo|].
          destruct (category P G Y (fst f) g) as [e|]; cbn [is]; rewrite Z.eqb_refl; [|discriminate]. destruct (Z.eqb_spec e d); [subst; contradiction N; reflexivity|discriminate].
        + destruct (category P G Y (fst f) g) as [d|]; [|reflexivity]. cbn [fits allowed] in *. apply K; [apply Fc|].
          destruct (category P G X (fst f) g) as [e|]; cbn [is]; rewrite Z.eqb_refl; [|discriminate]. destruct (Z.eqb_spec e d); [subst; contradiction N; reflexivity|discriminate].
      - change (total W) with (total P). etransitivity; [|exact C5]. unfold size. apply inj_le.
        unfold changes_made. clear. induction (ids (nodes_of G)) as [|n ns IH]; cbn [flat_map]; [reflexivity|]. rewrite !app_length, map_length. apply Nat.add_le_mono_l. exact IH.
      - intros f I. change (each W) with (each P). destruct (made_in f I) as (Hn & g & Ig & _). rewrite made_node_size.
        destruct (Z.leb_spec 0 (fst f)); [|lia]. destruct (Z.ltb_spec (fst f) (nodes_of G)); [|lia]. cbn [andb].
        destruct (C4 (fst f) Hn) as [E|L]; [|exact L]. rewrite E in Ig. destruct Ig.
    Qed.

    Lemma made_apart : apart (same_group change) changes_made.
    Proof.
      intros f f' I I' E R. destruct (made_in f I) as (_ & g & _ & Hc & Hs). destruct (made_in f' I') as (_ & g' & _ & Hc' & Hs').
      unfold same_group in R. rewrite Hc, Hc' in R. unfold change_of_group in R. apply Z.eqb_eq in R. subst g'.
      destruct f as [n d], f' as [n' d']. cbn [fst snd] in *. subst n'. congruence.
    Qed.
  End Made.

  (* Changes make rows with categories replaced. *)
  Section Makes.
    Variable F : list flip.
    Hypothesis ADMISSIBLE : admissible W F.
    Hypothesis APART : apart (same_group change) F.

    Notation group_is := (Widen.group_is change).
    Notation chosen := (Widen.chosen change F).
    Notation result_of := (recategorise P G change F).

    Lemma of_F f : In f F -> exists g o c, change (snd f) = Some (g, (o, c)) /\ 0 <= fst f < nodes_of G /\ 0 <= g < groups G /\
      category P G X (fst f) g = o /\ allowed P (fst f) o = true /\ allowed P (fst f) c = true /\ fits g o /\ fits g c /\ o <> c.
    Proof.
      intros I. destruct ADMISSIBLE as (_ & PF & _). destruct (PF f I) as [Hp _]. apply permitted_widened in Hp as (g & o & c & Hc & Hn & Ho & A1 & A2).
      destruct (change_in _ _ _ _ Hc) as (_ & Hg & Fo & Fc & N). exists g, o, c. auto 10.
    Qed.

    Lemma chosen_some n g f : chosen n g = Some f -> In f F /\ fst f = n /\ exists o c, change (snd f) = Some (g, (o, c)).
    Proof.
      unfold Widen.chosen. intros E. apply find_some in E as [I E]. apply andb_prop in E as [E1 E2]. apply Z.eqb_eq in E1. split; [exact I|].
      split; [exact E1|].
      unfold Widen.group_is in E2. destruct (change (snd f)) as [[h [o c]]|]; [|discriminate]. apply Z.eqb_eq in E2. subst h. eauto.
    Qed.

    Lemma entry_elsewhere f g o c d : change (snd f) = Some (g, (o, c)) -> fits g o -> fits g c -> group_of G d <> g -> entry f d = 0.
    Proof.
      intros Hc Fo Fc N. unfold entry. rewrite Hc.
      assert (forall a, fits g a -> is a d = 0) as K; [|rewrite (K o Fo), (K c Fc); reflexivity].
      intros [x|] Fa; cbn [is fits] in *; [|reflexivity]. destruct (Z.eqb_spec x d) as [->|]; [|reflexivity]. destruct Fa. contradiction.
    Qed.

    Lemma result_in n d f : 0 <= d < count P -> chosen n (group_of G d) = Some f ->
      exists o c, change (snd f) = Some (group_of G d, (o, c)) /\ bit (X n d) = is o d /\ bit (result_of n d) = is c d /\
        allowed P n o = true /\ allowed P n c = true /\ 0 <= n < nodes_of G /\ 0 <= group_of G d < groups G.
    Proof.
      intros Hd E. destruct (chosen_some _ _ _ E) as (I & En & o & c & Hc). destruct (of_F f I) as (g & o' & c' & Hc' & Hn & Hg & Ho & A1 & A2 & _).
      rewrite Hc in Hc'. assert (g = group_of G d /\ o' = o /\ c' = c) as (-> & -> & ->) by (inversion Hc'; auto). exists o, c. rewrite <- En in *. split; [exact Hc|].
      split. { rewrite <- Ho, (category_is X (fst f) _ d (graph_single _ _ Hn Hg) Hd), Z.eqb_refl. reflexivity. }
      split; [|auto]. unfold recategorise. destruct (Z.leb_spec 0 d); [|lia]. destruct (Z.ltb_spec d (count P)); [|lia]. cbn [andb]. rewrite En in *.
      rewrite E, Hc.
      destruct c; reflexivity.
    Qed.

    Lemma result_out n d : (0 <= d < count P -> chosen n (group_of G d) = None) -> result_of n d = X n d.
    Proof.
      intros H. unfold recategorise. destruct (Z.leb_spec 0 d); cbn [andb]; [|reflexivity]. destruct (Z.ltb_spec d (count P)); [|reflexivity].
      rewrite H by lia. reflexivity.
    Qed.

    Lemma result_describes : describes F result_of.
    Proof.
      intros n d Hd. destruct (chosen n (group_of G d)) as [f|] eqn:E.
      - destruct (result_in n d f Hd E) as (o & c & Hc & E1 & E2 & _). destruct (chosen_some _ _ _ E) as (I & En & _).
        destruct ADMISSIBLE as (ND & _). rewrite (zsum_single F f _ ND I).
        + rewrite En, Z.eqb_refl. unfold entry. rewrite Hc. lia.
        + intros f' I' N. destruct (Z.eqb_spec (fst f') n) as [En'|]; [|reflexivity]. destruct (of_F f' I') as (g' & o' & c' & Hc' & _ & _ & _ & _ & _ & Fo & Fc & _).
          apply (entry_elsewhere f' g' o' c' d Hc' Fo Fc). intros G'. apply N. apply APART; auto; [congruence|]. unfold same_group. rewrite Hc', Hc. apply Z.eqb_eq. congruence.
      - rewrite result_out by auto. rewrite zsum_zero; [lia|]. intros f' I'. destruct (Z.eqb_spec (fst f') n) as [En'|]; [|reflexivity].
        destruct (of_F f' I') as (g' & o' & c' & Hc' & _ & _ & _ & _ & _ & Fo & Fc & _). apply (entry_elsewhere f' g' o' c' d Hc' Fo Fc). intros G'.
        unfold Widen.chosen in E. pose proof (find_none _ _ E f' I') as K. cbn beta in K. rewrite En', Z.eqb_refl in K. unfold Widen.group_is in K.
        rewrite Hc' in K. cbn [andb] in K.
        apply Z.eqb_neq in K. congruence.
    Qed.

    Lemma changed_result n : Z.of_nat (length (changed P G result_of n)) <= size (of_node n F).
    Proof.
      unfold size. apply inj_le. apply Nat.le_trans with (length (map (fun f => match change (snd f) with Some (g, _) => g | None => 0 end) (of_node n F))); [|rewrite map_length; reflexivity].
      apply NoDup_incl_length; [apply NoDup_filter, ids_nodup|]. intros g I. destruct (changed_in result_of n g I) as (_ & d & Hd & Gd & D).
      destruct (chosen n (group_of G d)) as [f|] eqn:E; [|contradiction D; symmetry; apply result_out; auto].
      destruct (chosen_some _ _ _ E) as (If & En & o & c & Hc). apply in_map_iff. exists f. rewrite Hc. split; [exact Gd|].
      unfold of_node. apply filter_In. split; [exact If|]. apply Z.eqb_eq. exact En.
    Qed.

    Lemma result_recategorised : recategorised P G result_of.
    Proof.
      destruct ADMISSIBLE as (ND & PF & Q & q). split; [|split; [|split; [|split]]].
      - intros n d D. fold X in D. destruct (Z.leb_spec 0 d) as [L1|L1]; [destruct (Z.ltb_spec d (count P)) as [L2|L2]|].
        + destruct (chosen n (group_of G d)) as [f|] eqn:E; [|contradiction D; apply result_out; auto].
          destruct (result_in n d f ltac:(lia) E) as (o & c & Hc & E1 & E2 & A1 & A2 & Hn & Hg). repeat (split; [lia|]).
          destruct (result_of n d) eqn:ER; cbn [bit] in E2.
          * destruct c as [x|]; cbn [is allowed] in *; [|lia]. destruct (Z.eqb_spec x d); [subst; exact A2|cbn in E2; lia].
          * destruct (X n d) eqn:EX; [|contradiction D; reflexivity]. cbn [bit] in E1. destruct o as [x|]; cbn [is allowed] in *; [|lia].
            destruct (Z.eqb_spec x d); [subst; exact A1|cbn in E1; lia].
        + contradiction D. apply result_out. lia.
        + contradiction D. apply result_out. lia.
      - intros n g d e Hn Hg Hd He Gd Ge Yd Ye. destruct (chosen n g) as [f|] eqn:E.
        + rewrite <- Gd in E. destruct (result_in n d f Hd E) as (o & c & Hc & _ & E2 & _). rewrite Gd, <- Ge in E.
          destruct (result_in n e f He E) as (o' & c' & Hc' & _ & E2' & _). rewrite Hc in Hc'. inversion Hc'. subst o' c'. rewrite Yd in E2. rewrite Ye in E2'. cbn [bit] in *.
          destruct c as [x|]; cbn [is] in *; [|lia]. destruct (Z.eqb_spec x d), (Z.eqb_spec x e); cbn in *; try lia.
        + rewrite result_out in Yd, Ye by (rewrite ?Gd, ?Ge; auto). apply (graph_single n g Hn Hg d e); auto.
      - intros n g Hn Hg L. destruct (chosen n g) as [f|] eqn:E.
        + destruct (chosen_some _ _ _ E) as (I & En & o & c & Hc). destruct (of_F f I) as (g' & o' & c' & Hc' & _ & _ & _ & _ & _ & _ & Fc & _).
          rewrite Hc in Hc'. inversion Hc'. subst g' o' c'. destruct c as [x|]; cbn [fits] in Fc; [|apply spared_spec; exact Fc].
          destruct Fc as [Hx Gx]. rewrite <- Gx in E. destruct (result_in n x f Hx E) as (o' & c' & Hc2 & _ & E2 & _). rewrite Hc in Hc2. inversion Hc2. subst o' c'.
          rewrite (L x Hx Gx) in E2. cbn [is bit] in E2. rewrite Z.eqb_refl in E2. cbn in E2. lia.
        + exists n. split; [exact Hn|]. intros d Hd Gd. fold X. rewrite <- (result_out n d) by (rewrite Gd; auto). apply L; auto.
      - intros n Hn. pose proof (changed_result n) as C. destruct (of_node n F) as [|f r] eqn:E.
        + left. unfold size in C. cbn [length] in C. destruct (changed P G result_of n); [reflexivity|cbn [length] in C; lia].
        + right. assert (In f (of_node n F)) as I by (rewrite E; left; reflexivity). unfold of_node in I. apply filter_In in I as [I1 I2]. apply Z.eqb_eq in I2.
          specialize (q f I1). rewrite I2, E in q. change (each W) with (each P) in q. lia.
      - change (total W) with (total P) in Q. etransitivity; [|exact Q]. unfold size. rewrite !size_sum, zsum_flat_map.
        etransitivity; [apply (zsum_le_in _ _ (fun n => zsum F (fun f => if Z.eqb (fst f) n then 1 else 0)))|].
        + intros n _. rewrite <- size_of_node, <- size_sum. apply changed_result.
        + rewrite zsum_swap. apply zsum_le_in. intros f _.
          rewrite (zsum_ext _ _ (fun n => if Z.eqb n (fst f) then 1 else 0)) by (intros n; rewrite Z.eqb_sym; reflexivity).
          destruct (in_dec Z.eq_dec (fst f) (ids (nodes_of G))) as [I|NI].
          * rewrite (zsum_only _ (fst f) (fun _ => 1) (ids_nodup _) I). lia.
          * rewrite zsum_zero; [lia|]. intros k Hk. destruct (Z.eqb_spec k (fst f)); [subst; contradiction|reflexivity].
    Qed.
  End Makes.

  Lemma unchanged : describes [] X.
  Proof. intros n d _. rewrite zsum_nil. lia. Qed.
End Grouped.

(* The last word about categories. *)
Theorem verified_categories (s : Z) (bits z : network Z) (P : problem) (G : grouping) (classes : Z) (p : prepared) (W : problem)
    (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
  integers_of 0 s bits z ->
  prepare_categories z classes P G = Some (p, W) ->
  all_lines p no_bounds lines = Some whole ->
  match judge p W whole by_prediction t y c with
  | Some IsRobust => robust (rational bits) (by_categories P G) classes t y
  | Some IsBroken => broken (rational bits) (by_categories P G) classes t y /\
      (by_prediction = true -> predicted (rational bits) (numbers (attributes P)) classes t y)
  | Some IsTied => tied (rational bits) (by_categories P G) classes t y /\
      (by_prediction = true -> predicted (rational bits) (numbers (attributes P)) classes t y)
  | None => True
  end.
Proof.
  intros INT HP HL. destruct (integers_scaled 0 s bits z INT) as (k & _ & S). unfold prepare_categories in HP.
  destruct (bottom z classes) as [[first w]|] eqn:B; [|discriminate].
  destruct (fit_for_groups P G first) eqn:E; [|discriminate]. unfold fit_for_groups in E.
  apply andb_prop in E as [E ONE]. apply andb_prop in E as [E1 E2]. apply Z.leb_le in E1. apply Z.eqb_eq in E2.
  destruct (widened P G) as [W' change] eqn:EW. destruct (prepare _ _ _ _) as [p'|] eqn:EP; [|discriminate]. inversion HP. subst p' W'. clear HP.
  pose proof (judge_sound _ W classes _ entries p (prepared_sound _ _ _ _ _ EP) lines whole by_prediction t y c HL) as J. cbn zeta in J.
  assert (W = fst (widened P G)) as W1 by (rewrite EW; reflexivity). assert (change = snd (widened P G)) as W2 by (rewrite EW; reflexivity).
  rewrite W1, W2 in *. clear EW W1 W2.
  assert (zpredicted (widen (snd (widened P G)) (count (fst (widened P G))) z) (fst (widened P G)) classes entries t y -> admissible (fst (widened P G)) [] ->
    predicted (rational bits) (numbers (attributes P)) classes t y) as PR.
  { intros [Hy H] A. apply (zpredicted_predicted k (rational bits) z S P). split; [exact Hy|]. intros other Ho D.
    pose proof (fun j => widened_value P G E1 [] (attributes P) A (unchanged P G) z classes first w B E2 t j) as V. specialize (H other Ho D).
    change (flipped (attributes (fst (widened P G))) []) with (attributes (fst (widened P G))) in V. rewrite !V in H. exact H. }
  assert (forall F, admissible (fst (widened P G)) F -> admissible (fst (widened P G)) []) as EMPTY.
  { intros F (_ & _ & Q & _). split; [constructor|]. split; [intros ? []|]. split; [|intros ? []]. unfold size in *. cbn [length]. lia. }
  destruct (judge _ _ _ _ _ _ _) as [[| |]|]; [| | |exact I].
  - intros X (Y & M & ->) other Ho D. apply (scaled_lt k (rational bits) z _ t other y S).
    pose proof (made_admissible P G ONE E1 Y M) as A.
    rewrite <- !(widened_value P G E1 _ Y A (made_describes P G ONE Y M) z classes first w B E2).
    apply J; auto. apply made_apart; assumption.
  - destruct J as [(F & other & A & AP & Ho & D & L) PD]. split; [|eauto].
    exists (numbers (recategorise P G (snd (widened P G)) F)), other.
    split; [exists (recategorise P G (snd (widened P G)) F); split; [apply result_recategorised; assumption|reflexivity]|]. split; [exact Ho|].
    split; [exact D|].
    apply (scaled_lt k (rational bits) z _ t y other S). rewrite <- !(widened_value P G E1 F _ A (result_describes P G ONE F A AP) z classes first w B E2). exact L.
  - destruct J as [(F & other & A & AP & Ho & D & L) PD]. split; [|eauto].
    exists (numbers (recategorise P G (snd (widened P G)) F)), other.
    split; [exists (recategorise P G (snd (widened P G)) F); split; [apply result_recategorised; assumption|reflexivity]|]. split; [exact Ho|].
    split; [exact D|].
    apply (scaled_eq k (rational bits) z _ t y other S). rewrite <- !(widened_value P G E1 F _ A (result_describes P G ONE F A AP) z classes first w B E2). exact L.
Qed.

Print Assumptions verified_categories.

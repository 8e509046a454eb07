(* What is said of changed edges is true, in integers. *)
From Coq Require Import ZArith List Bool Lia Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Trees Sound Edges.
Import ListNotations.
Open Scope Z_scope.

Lemma among_spec c C : among c C = true <-> In c C.
Proof.
  unfold among. rewrite existsb_exists. split; [intros (x & I & E); apply same_spec in E; subst; exact I|].
  intros I. exists c. split; [exact I|]. apply same_spec. reflexivity.
Qed.

Lemma among_false c C : among c C = false <-> ~ In c C.
Proof. rewrite <- among_spec. destruct (among c C); split; congruence. Qed.

Lemma gather_key {A} (l : list (Z * A)) n a : In (n, a) l -> In n (map fst (gather l)).
Proof.
  induction l as [|[m b] l IH]; [intros []|]. intros [E|I]; cbn [gather].
  - inversion E; subst. destruct (gather l) as [|[n' g] groups]; [left; reflexivity|]. destruct (Z.eqb n n'); left; reflexivity.
  - specialize (IH I). destruct (gather l) as [|[n' g] groups]; [destruct IH|]. cbn [map fst] in IH. destruct (Z.eqb_spec m n') as [->|].
    + exact IH.
    + right. exact IH.
Qed.

Lemma group_key {A} (l : list (Z * A)) n a : In (n, a) l -> In n (map fst (group l)).
Proof. intros I. apply (gather_key _ n a). apply (Permutation_in _ (Permutation_sym (sort_perm l))). exact I. Qed.

Lemma sources_in ts wanted (t : term Z) m e : In t ts -> In m wanted -> In e (operator t m) -> In (fst e) (sources ts wanted).
Proof.
  intros T M O. unfold sources. apply (group_key _ _ (snd e)). apply in_flat_map. exists t. split; [exact T|]. apply in_flat_map. exists m.
  split; [exact M|]. destruct e. exact O.
Qed.

Lemma each_once_in l v : In v l -> In v (each_once l).
Proof. intros I. unfold each_once. apply (group_key _ v tt). apply (in_map (fun v => (v, tt))). exact I. Qed.

(* Logits are a matter of the rows that are read. *)
Definition alike (R : list Z) (g h : graph) : Prop := forall v, In v R -> Permutation (g v) (h v).

Lemma received_alike itself (g h : graph) v : Permutation (g v) (h v) -> Permutation (received itself g v) (received itself h v).
Proof. unfold received. destruct (itself v); auto. Qed.

Lemma size_alike itself (g h : graph) v : Permutation (g v) (h v) -> size_of itself g v = size_of itself h v.
Proof. intros H. unfold size_of. rewrite (Permutation_length (received_alike itself g h v H)). reflexivity. Qed.

Lemma by_rule_alike (r : rule Z) (g h : graph) v f :
  (along_edges r = true -> Permutation (g v) (h v)) ->
  (by_sender r = true -> forall e, In e (by_rule r g v) -> Permutation (g (fst e)) (h (fst e))) ->
  zsum (by_rule r g v) f = zsum (by_rule r h v) f.
Proof.
  destruct r as [rows|itself entry|itself entry]; cbn [by_rule along_edges by_sender]; intros A B; [reflexivity| |].
  - rewrite !zsum_map, (size_alike itself g h v (A eq_refl)). apply zsum_perm, received_alike. auto.
  - rewrite !zsum_map, (size_alike itself g h v (A eq_refl)).
    rewrite (zsum_ext_in (received itself g v) _ (fun u => f (u, entry (size_of itself h v) (size_of itself h u)))).
    + apply zsum_perm, received_alike. auto.
    + intros u I. rewrite (size_alike itself g h u); [reflexivity|].
      exact (B eq_refl (u, entry (size_of itself g v) (size_of itself g u)) (in_map (fun u => (u, entry (size_of itself g v) (size_of itself g u))) _ _ I)).
Qed.

Lemma zpassed_on net g h i z : zpassed (on_graph net g) i z = zpassed (on_graph net h) i z.
Proof. destruct net; reflexivity. Qed.

Lemma values_alike (V : zrows) g h net : forall wanted m j, In m wanted -> alike (rows_read g net wanted) g h ->
  zvalue (on_graph net g) V m j = zvalue (on_graph net h) V m j.
Proof.
  induction net as [|l below IH]; intros wanted m j M A; [reflexivity|]. cbn [rows_read] in A.
  set (senders := sources (terms (layer_on g l)) wanted) in *.
  assert (existsb (fun p => along_edges (fst p)) (ruled_terms l) = true -> Permutation (g m) (h m)) as A1.
  { intros X. apply A. rewrite X. apply in_or_app. left. exact M. }
  assert (existsb (fun p => by_sender (fst p)) (ruled_terms l) = true -> forall u, In u senders -> Permutation (g u) (h u)) as A2.
  { intros X u U. apply A. rewrite X. apply in_or_app. right. apply in_or_app. left. exact U. }
  assert (forall u i, In u senders -> zvalue (on_graph below g) V u i = zvalue (on_graph below h) V u i) as A3.
  { intros u i U. destruct below as [|b below]; [reflexivity|]. apply (IH senders u i U). intros v I. apply A. apply in_or_app. right. apply in_or_app. right. exact I. }
  cbn [on_graph map zvalue layer_on terms inputs bias]. fold (on_graph below g) (on_graph below h). f_equal. rewrite !zsum_map. apply zsum_ext_in. intros p P.
  cbn [operator weight].
  assert (forall e, In e (by_rule (fst p) g m) -> In (fst e) senders) as S.
  { intros e I. apply (sources_in _ _ {| operator := by_rule (fst p) g; weight := snd p |} m); [|exact M|exact I].
    apply (in_map (fun p => {| operator := by_rule (fst p) g; weight := snd p |})). exact P. }
  rewrite (zsum_ext_in (by_rule (fst p) g m) _ (fun e => snd e *
    zsum (ids (ruled_inputs l)) (fun i => zpassed (on_graph below h) i (zvalue (on_graph below h) V (fst e) i) * snd p i j))).
  - apply by_rule_alike.
    + intros X. apply A1. apply existsb_exists. exists p. auto.
    + intros X e I. apply A2; [apply existsb_exists; exists p; auto|]. apply S. exact I.
  - intros e I. f_equal. apply zsum_ext. intros i. rewrite (A3 _ _ (S e I)), (zpassed_on below g h). reflexivity.
Qed.

Lemma values_same (V : zrows) (g h : graph) net m j : (forall v, g v = h v) -> zvalue (on_graph net g) V m j = zvalue (on_graph net h) V m j.
Proof. intros H. apply (values_alike V g h net [m] m j); [left; reflexivity|]. intros v _. rewrite H. reflexivity. Qed.

(* Admissible sets. *)
Lemma size_filter {A} (f : A -> bool) M C : NoDup M -> incl M C -> (length (filter f M) <= length (filter f C))%nat.
Proof.
  intros ND I. apply NoDup_incl_length; [apply NoDup_filter; exact ND|]. intros x X. apply filter_In in X as [X1 X2]. apply filter_In. auto.
Qed.

Lemma filter_filter {A} (f g : A -> bool) l : filter f (filter g l) = filter (fun x => g x && f x) l.
Proof. induction l as [|x l IH]; [reflexivity|]. cbn [filter]. destruct (g x); cbn [filter andb]; destruct (f x); rewrite ?IH; reflexivity. Qed.

Lemma distinct_complete C : NoDup C -> distinct C = true.
Proof.
  induction 1 as [|c C NI ND IH]; [reflexivity|]. cbn [distinct]. rewrite IH, andb_true_r. apply negb_true_iff. apply among_false. exact NI.
Qed.

Lemma nodup_both {A} (l r : list A) : NoDup l -> NoDup r -> (forall x, In x l -> ~ In x r) -> NoDup (l ++ r).
Proof.
  induction 1 as [|x l NI ND IH]; intros R D; cbn [app]; [exact R|]. constructor; [|apply IH; [exact R|intros z I; apply D; right; exact I]].
  rewrite in_app_iff. intros [I|I]; [contradiction|]. exact (D x (or_introl eq_refl) I).
Qed.

Section Budget.
  Variable E : edge_problem.

  Lemma is_permitted_spec c : is_permitted E c = true <->
    0 <= fst c < node_count E /\ 0 <= snd c < node_count E /\ fst c <> snd c /\ (directed E = true \/ fst c < snd c) /\ may_change E (fst c) (snd c) = true.
  Proof. unfold is_permitted. rewrite !andb_true_iff, orb_true_iff, !Z.leb_le, !Z.ltb_lt, negb_true_iff, Z.eqb_neq. tauto. Qed.

  Lemma within_at_spec C v : within_at E C v = true <->
    size (counted_at E v C) <= most_at E v /\
    (keeps_one E = true -> size (removals E (counted_at E v C)) <= Z.max 0 (Z.of_nat (length (graph_of E v)) - 1)).
  Proof.
    unfold within_at. rewrite andb_true_iff, orb_true_iff, !Z.leb_le, negb_true_iff. destruct (keeps_one E); intuition congruence.
  Qed.

  Lemma counted_at_in c v C : In c (counted_at E v C) <-> In c C /\ (snd c = v \/ (directed E = false /\ fst c = v)).
  Proof. unfold counted_at. rewrite filter_In, orb_true_iff, andb_true_iff, !Z.eqb_eq, negb_true_iff. tauto. Qed.

  Lemma is_admissible_changes_spec C : is_admissible_changes E C = true -> admissible_changes E C.
  Proof.
    unfold is_admissible_changes. rewrite !andb_true_iff, !forallb_forall, Z.leb_le. intros (((D & S) & P) & W).
    split; [apply distinct_spec; exact D|]. split; [exact S|]. split; [intros c I; apply is_permitted_spec, P; exact I|].
    intros v. destruct (counted_at E v C) as [|c rest] eqn:Q; [left; reflexivity|]. right. rewrite <- Q. apply within_at_spec.
    assert (In c (counted_at E v C)) as I by (rewrite Q; left; reflexivity). apply counted_at_in in I as [I [H|[H1 H2]]]; specialize (W c I);
      apply andb_prop in W as [W1 W2]; [rewrite <- H; exact W1|]. rewrite H1 in W2. cbn [orb] in W2. rewrite <- H2. exact W2.
  Qed.

  Lemma within_smaller M C v : NoDup M -> incl M C -> counted_at E v M <> [] ->
    (counted_at E v C = [] \/ within_at E C v = true) -> within_at E M v = true.
  Proof.
    intros ND I NE [Q|W].
    - destruct NE. destruct (counted_at E v M) as [|c rest] eqn:R; [reflexivity|]. assert (In c (counted_at E v M)) as X by (rewrite R; left; reflexivity).
      apply counted_at_in in X as [X1 X2]. assert (In c (counted_at E v C)) as Y by (apply counted_at_in; auto). rewrite Q in Y. destruct Y.
    - rewrite within_at_spec in *. destruct W as [W1 W2]. unfold size, removals, counted_at in *. rewrite filter_filter in *.
      pose proof (size_filter (fun c => Z.eqb (snd c) v || (negb (directed E) && Z.eqb (fst c) v)) M C ND I).
      pose proof (size_filter (fun c => (Z.eqb (snd c) v || (negb (directed E) && Z.eqb (fst c) v)) && existsb (Z.eqb (fst c)) (graph_of E (snd c))) M C ND I).
      unfold edge, flip in *. split; [lia|]. intros K. specialize (W2 K). lia.
  Qed.

  Lemma smaller_admissible M C : NoDup M -> incl M C -> admissible_changes E C -> is_admissible_changes E M = true.
  Proof.
    intros ND I (NC & S & P & W). unfold is_admissible_changes. rewrite (distinct_complete M ND). cbn [andb].
    assert (size M <= size C) by (unfold size; pose proof (NoDup_incl_length ND I); unfold edge, flip in *; lia).
    assert (forall v c, In c M -> In c (counted_at E v M) -> within_at E M v = true) as Q.
    { intros v c IM X. apply (within_smaller M C v ND I); [intros Z0; rewrite Z0 in X; destruct X|]. destruct (W v) as [|H1]; [left; assumption|right].
      apply within_at_spec. assumption. }
    rewrite !andb_true_iff. split; [split; [apply Z.leb_le; lia|]|]; apply forallb_forall; intros c IM.
    - apply is_permitted_spec, P, I, IM.
    - rewrite (Q (snd c) c IM) by (apply counted_at_in; auto). cbn [andb]. destruct (directed E) eqn:D; [reflexivity|].
      apply (Q (fst c) c IM), counted_at_in. auto.
  Qed.

  (* The graph after changes. *)
  Lemma arcs_in a C : In a (arcs E C) <-> In a C \/ (directed E = false /\ In (snd a, fst a) C).
  Proof.
    unfold arcs. destruct (directed E); [intuition congruence|]. rewrite in_app_iff, in_map_iff. split.
    - intros [H|(c & <- & H)]; [left; exact H|right]. cbn [fst snd]. destruct c. auto.
    - intros [H|[_ H]]; [left; exact H|right]. exists (snd a, fst a). destruct a. auto.
  Qed.

  Definition well_named (C : list edge) : Prop := NoDup C /\ forall c, In c C -> directed E = true \/ fst c < snd c.

  Lemma arcs_nodup C : well_named C -> NoDup (arcs E C).
  Proof.
    intros [ND L]. unfold arcs. destruct (directed E); [exact ND|].
    assert (forall c, In c C -> fst c < snd c) as LT by (intros c I; destruct (L c I); [discriminate|assumption]). clear L.
    assert (NoDup (map (fun c : edge => (snd c, fst c)) C)) as NM.
    { clear LT. induction ND as [|c C NI ND IH]; cbn [map]; constructor; auto. intros I. apply in_map_iff in I as (d & Q & I).
      injection Q. intros Q1 Q2. apply NI. destruct c, d. cbn [fst snd] in *. subst. exact I. }
    assert (forall a, In a (map (fun c : edge => (snd c, fst c)) C) -> snd a < fst a) as GT.
    { intros a I. apply in_map_iff in I as (d & <- & I). cbn [fst snd]. exact (LT d I). }
    apply nodup_both; [exact ND|exact NM|]. intros c I1 I2. specialize (GT c I2). specialize (LT c I1). lia.
  Qed.

  Lemma into_nodup v A : NoDup A -> NoDup (map fst (filter (fun a : edge => Z.eqb (snd a) v) A)).
  Proof.
    induction 1 as [|a A NI ND IH]; [constructor|]. cbn [filter]. destruct (Z.eqb_spec (snd a) v) as [Q|]; [|exact IH]. cbn [map]. constructor; [|exact IH].
    intros I. apply in_map_iff in I as (b & Q1 & I). apply filter_In in I as [I Q2]. apply Z.eqb_eq in Q2. apply NI. destruct a, b. cbn [fst snd] in *. subst. exact I.
  Qed.

  Lemma changed_alike M C v : well_named M -> well_named C -> (forall u, In (u, v) (arcs E M) <-> In (u, v) (arcs E C)) ->
    Permutation (changed_graph E M v) (changed_graph E C v).
  Proof.
    intros WM WC H. unfold changed_graph. apply Permutation_app.
    - rewrite (filter_ext_in _ (fun u => negb (existsb (same (u, v)) (arcs E C)))); [reflexivity|]. intros u _. f_equal. apply eq_true_iff_eq.
      change (among (u, v) (arcs E M) = true <-> among (u, v) (arcs E C) = true). rewrite !among_spec. apply H.
    - apply NoDup_Permutation; try (apply NoDup_filter, into_nodup, arcs_nodup; assumption).
      intros u. rewrite !filter_In, !in_map_iff.
      assert (forall A B, (forall u, In (u, v) A <-> In (u, v) B) ->
        (exists x : edge, fst x = u /\ In x (filter (fun a : edge => Z.eqb (snd a) v) A)) -> exists x : edge, fst x = u /\ In x (filter (fun a : edge => Z.eqb (snd a) v) B)) as K.
      { intros A B AB (x & Q & I). exists x. split; [exact Q|]. apply filter_In in I as [I1 I2]. apply filter_In. split; [|exact I2].
        apply Z.eqb_eq in I2. destruct x as [x1 x2]. cbn [fst snd] in *. subst. apply AB. exact I1. }
      split; intros [X1 X2]; (split; [|exact X2]); [apply (K (arcs E M))|apply (K (arcs E C))]; auto. intros w. symmetry. apply H.
  Qed.

  Lemma admissible_named C : admissible_changes E C -> well_named C.
  Proof. intros (ND & _ & P & _). split; [exact ND|]. intros c I. apply (P c I). Qed.

  Lemma smaller_named M C : NoDup M -> incl M C -> admissible_changes E C -> well_named M.
  Proof. intros ND I A. split; [exact ND|]. intros c IM. apply (proj2 (admissible_named C A)), I, IM. Qed.

  (* Every change with an arc into a node is on its list. *)
  Lemma changes_into_in C u v : admissible_changes E C -> In (u, v) (arcs E C) -> exists c, In c C /\ In c (changes_into E v) /\ (c = (u, v) \/ (directed E = false /\ c = (v, u))).
  Proof.
    intros (_ & _ & P & _) I. unfold changes_into. apply arcs_in in I as [I|[D I]]; cbn [fst snd] in *.
    - exists (u, v). split; [exact I|]. split; [|left; reflexivity]. apply filter_In. pose proof (P _ I) as Q. split; [|apply is_permitted_spec; exact Q].
      apply in_or_app. left. apply (in_map (fun u => (u, v))). apply ids_in. apply Q.
    - exists (v, u). split; [exact I|]. split; [|right; auto]. apply filter_In. pose proof (P _ I) as Q. split; [|apply is_permitted_spec; exact Q].
      apply in_or_app. right. rewrite D. apply (in_map (fun u => (v, u))). apply ids_in. apply Q.
  Qed.
End Budget.

(* Lists of sets. *)
Lemma lowest_bottom net g top l w : lowest net top = Some (l, w) -> bottom (on_graph net g) top = Some (layer_on g l, w).
Proof.
  revert top. induction net as [|l' below IH]; intros top; [discriminate|]. cbn [lowest on_graph map bottom].
  destruct below as [|b below]; [intros [= <- <-]; reflexivity|]. intros H. exact (IH _ H).
Qed.

Lemma sent_rows_reads l g V : reads (layer_on g l) (sent_rows V) V.
Proof.
  intros n w. unfold sent_rows. rewrite zsum_filter, zsum_map. apply zsum_ext. intros d. cbn [fst snd]. destruct (Z.eqb_spec (V n d) 0) as [->|]; cbn [negb]; lia.
Qed.

Lemma sent_on_sends l w g V : sends (layer_on g l) w V (sent_on g (sent_first l w V)).
Proof.
  unfold sent_on, sent_first. rewrite map_map. cbn [fst snd]. split; [rewrite map_map; reflexivity|].
  intros tm n I. apply in_map_iff in I as (q & <- & _). cbn [fst snd]. rewrite get_tabulate.
  exact (messages_spec (layer_on g l) w (sent_rows V) V {| operator := fun _ => []; weight := snd q |} n (sent_rows_reads l g V)).
Qed.

Section Listed.
  Variables (net : list (ruled Z)) (classes : Z) (E : edge_problem) (V : zrows) (p : edges_prepared).
  Hypothesis PREPARED : prepare_edges net classes E V = Some p.
  Notation value g t j := (zvalue (on_graph net g) V t j).

  Lemma logits_on_spec t g : logits_on p t g = map (fun j => (j, value g t j)) (ids classes).
  Proof.
    unfold prepare_edges in PREPARED. destruct (lowest net classes) as [[l w]|] eqn:L; [|discriminate]. injection PREPARED as <-.
    unfold logits_on. cbn [edge_net edge_classes sent_once].
    rewrite (zforward_spec _ _ V (layer_on g l) w classes t (lowest_bottom net g classes l w L) (sent_on_sends l w g V)).
    induction (ids classes) as [|j r IH]; [reflexivity|]. cbn [map combine]. rewrite IH. reflexivity.
  Qed.

  Lemma same_problem : edges_of p = E /\ edge_net p = net /\ edge_classes p = classes /\ forall v, get (into p) v = changes_into E v.
  Proof.
    unfold prepare_edges in PREPARED. destruct (lowest net classes) as [[l w]|]; [|discriminate]. injection PREPARED as <-. cbn [edges_of edge_net edge_classes into].
    repeat split. intros v. apply get_tabulate.
  Qed.

  Lemma logit_at t g y x : logit_of (logits_on p t g) y = Some x -> 0 <= y < classes /\ x = value g t y.
  Proof.
    rewrite logits_on_spec. unfold logit_of. destruct (List.find _ _) as [e|] eqn:F; [|discriminate]. intros [= <-]. apply find_some in F as [I Q].
    apply Z.eqb_eq in Q. apply in_map_iff in I as (j & <- & I). cbn [fst snd] in *. subst j. apply ids_in in I. auto.
  Qed.

  Lemma graph_after_spec C v : graph_after p C v = changed_graph E C v.
  Proof. unfold graph_after. rewrite get_tabulate. destruct same_problem as [-> _]. reflexivity. Qed.

  (* What lists show of a property of graphs that is a matter of the rows that are read. *)
  Definition covered (K : graph -> Prop) (made left_out : list edge) (C : list edge) : Prop :=
    admissible_changes E C -> incl made C -> (forall c, In c left_out -> ~ In c C) -> K (changed_graph E C).

  Section Lists.
    Context {leaf : Type}.
    Variables (t : Z) (K : list Z -> graph -> Prop).
    Variable keeps : leaf -> list Z -> list edge -> graph -> bool.
    Variable critical : leaf -> list Z -> list edge -> list edge -> option (list edge).
    Hypothesis KEEPS : forall s others made, keeps s others made (graph_after p made) = true -> K others (graph_after p made).
    Hypothesis ALIKE : forall others g h, alike (rows_read g net [t]) g h -> K others g -> K others h.
    Hypothesis CRITICAL : forall s others made left_out matter, NoDup made -> critical s others made left_out = Some matter ->
      forall C, (forall c, In c matter -> In c C -> In c made) -> covered (K others) made left_out C.

    Lemma each_open_sound others more made : NoDup made ->
      (forall work M left_out left, NoDup M -> more work M left_out = AllKeep left -> forall C, covered (K others) M left_out C) ->
      forall open left_out work left, each_open p more made open left_out work = AllKeep left ->
      forall C, (exists c, In c open /\ In c C /\ ~ In c made) -> covered (K others) made left_out C.
    Proof.
      intros ND MORE. induction open as [|c rest IH]; intros left_out work left H C (d & D1 & D2 & D3) A I L; [destruct D1|]. cbn [each_open] in H.
      destruct same_problem as [Ep _]. rewrite Ep in H.
      destruct (among c left_out || among c made || negb (is_admissible_changes E (c :: made))) eqn:SKIP.
      - apply (IH _ _ _ H C); auto. exists d. split; [|auto]. destruct D1 as [->|D1]; [exfalso|exact D1].
        apply orb_prop in SKIP as [SKIP|SKIP]; [apply orb_prop in SKIP as [SKIP|SKIP]; apply among_spec in SKIP|].
        + exact (L d SKIP D2).
        + contradiction.
        + apply negb_true_iff in SKIP. rewrite (smaller_admissible E (d :: made) C) in SKIP; [discriminate|constructor; assumption| |exact A].
          intros x [<-|X]; auto.
      - apply orb_false_elim in SKIP as [SKIP _]. apply orb_false_elim in SKIP as [_ NM]. apply among_false in NM.
        destruct (more work (c :: made) left_out) as [left'| |] eqn:R; try discriminate. destruct (among c C) eqn:Q.
        + apply among_spec in Q. apply (MORE work (c :: made) left_out left'); auto; [constructor; assumption|]. intros x [<-|X]; auto.
        + apply among_false in Q. apply (IH _ _ _ H C); auto; [|intros x [<-|X]; auto]. exists d. split; [|auto]. destruct D1 as [->|D1]; [contradiction|exact D1].
    Qed.

    Lemma list_sets_sound others s depth : forall work made left_out left, NoDup made ->
      list_sets p t keeps critical depth s others work made left_out = AllKeep left -> forall C, covered (K others) made left_out C.
    Proof.
      induction depth as [|less IH]; intros work made left_out left ND H C; [discriminate|]. cbn [list_sets] in H.
      destruct (Z.leb work 0); [discriminate|]. destruct (keeps s others made (graph_after p made)) eqn:KE; [|discriminate]. apply KEEPS in KE.
      destruct same_problem as (Ep & En & _ & Ei). rewrite Ep, En in H. intros A I L.
      assert (forall v, (forall c, In c C -> In c (changes_into E v) -> In c made) -> Permutation (graph_after p made v) (changed_graph E C v)) as SAME.
      { intros v Q. rewrite graph_after_spec. apply changed_alike; [exact (smaller_named E made C ND I A)|exact (admissible_named E C A)|].
        intros u. split; intros X.
        - apply arcs_in in X. apply arcs_in. destruct X as [X|[X1 X2]]; auto.
        - apply arcs_in. destruct (changes_into_in E C u v A X) as (c & C1 & C2 & [->|[D ->]]); [left|right; split; [exact D|]]; auto. }
      destruct (Z.leb_spec (most_changes E) (size made)) as [F|F].
      - apply (ALIKE others (graph_after p made)); [|exact KE]. intros v _. apply SAME. intros c IC _.
        assert (size C <= size made) as S by (destruct A as (_ & A & _); lia). unfold size in S. assert (length C <= length made)%nat as S' by (unfold edge, flip in *; lia). exact (NoDup_length_incl ND S' I c IC).
      - set (open := flat_map (get (into p)) (each_once (rows_read (graph_after p made) net [t]))) in *.
        assert (forall matter work left, each_open p (list_sets p t keeps critical less s others) made matter left_out work = AllKeep left ->
          (exists c, In c matter /\ In c C /\ ~ In c made) -> K others (changed_graph E C)) as LISTED.
        { intros matter w lf R X. refine (each_open_sound others (list_sets p t keeps critical less s others) made ND _ matter left_out w lf R C X A I L).
          intros w' M lo lf' NM R' C'. exact (IH w' M lo lf' NM R' C'). }
        assert (forall matter, (exists c, In c matter /\ In c C /\ ~ In c made) \/ forall c, In c matter -> In c C -> In c made) as EITHER.
        { intros matter. destruct (existsb (fun c => among c C && negb (among c made)) matter) eqn:X.
          - left. apply existsb_exists in X as (c & X1 & X2). apply andb_prop in X2 as [X2 X3]. apply among_spec in X2. apply negb_true_iff in X3. apply among_false in X3. exists c. auto.
          - right. intros c IM IC. destruct (among c made) eqn:M; [apply among_spec; exact M|exfalso].
            assert (existsb (fun c => among c C && negb (among c made)) matter = true); [|congruence]. apply existsb_exists. exists c.
            split; [exact IM|]. rewrite M. apply among_spec in IC. rewrite IC. reflexivity. }
        assert (forall w lf, each_open p (list_sets p t keeps critical less s others) made open left_out w = AllKeep lf -> K others (changed_graph E C)) as ALL.
        { intros w lf R. destruct (EITHER open) as [X|X]; [exact (LISTED open w lf R X)|].
          apply (ALIKE others (graph_after p made)); [|exact KE]. intros v IV. apply SAME. intros c IC II. apply X; [|exact IC]. unfold open. apply in_flat_map. exists v.
          split; [apply each_once_in; exact IV|]. rewrite Ei. exact II. }
        destruct (Nat.ltb 4 (length open)); [|exact (ALL _ _ H)]. destruct (critical s others made left_out) as [matter|] eqn:B.
        + destruct (EITHER matter) as [X|X]; [exact (LISTED matter _ _ H X)|exact (CRITICAL s others made left_out matter ND B C X A I L)].
        + destruct (Z.ltb work (Z.of_nat (length open))); [discriminate|exact (ALL _ _ H)].
    Qed.

    Lemma list_tree_sound others s : forall work made left_out left, NoDup made ->
      list_tree p t keeps critical others work made left_out s = AllKeep left -> forall C, covered (K others) made left_out C.
    Proof.
      induction s as [l|c without IHw changed IHc]; intros work made left_out left ND H C A I L; cbn [list_tree] in H.
      - exact (list_sets_sound others l _ work made left_out left ND H C A I L).
      - destruct (among c made) eqn:M; [discriminate|]. apply among_false in M.
        destruct (list_tree p t keeps critical others work made (c :: left_out) without) as [left'| |] eqn:R; try discriminate.
        destruct same_problem as [Ep _]. rewrite Ep in H. destruct (among c C) eqn:Q.
        + apply among_spec in Q. assert (incl (c :: made) C) as I' by (intros x [<-|X]; auto). assert (NoDup (c :: made)) as ND' by (constructor; assumption).
          rewrite (smaller_admissible E (c :: made) C ND' I' A) in H. exact (IHc left' (c :: made) left_out left ND' H C A I' L).
        + apply among_false in Q. apply (IHw work made (c :: left_out) left' ND R C A I). intros x [<-|X]; auto.
    Qed.

    Lemma list_trees_sound trees : forall work left, list_trees p t keeps critical work trees = AllKeep left ->
      forall others s C, In (others, s) trees -> admissible_changes E C -> K others (changed_graph E C).
    Proof.
      induction trees as [|[o s'] trees IH]; intros work left H others s C; [intros []|]. cbn [list_trees] in H.
      destruct (list_tree p t keeps critical o work [] [] s') as [left'| |] eqn:R; try discriminate. intros [Q|I] A; [injection Q; intros -> ->|exact (IH _ _ H others s C I A)].
      apply (list_tree_sound others s work [] [] left' (NoDup_nil _) R C A); [intros x []|intros x []].
    Qed.

    Lemma all_covered y work left trees : covers classes y trees = true -> list_trees p t keeps critical work trees = AllKeep left ->
      0 <= y < classes /\ forall C, admissible_changes E C -> forall other, 0 <= other < classes -> other <> y -> exists others, In other others /\ K others (changed_graph E C).
    Proof.
      intros H R. unfold covers in H. apply andb_prop in H as [HY H]. apply andb_prop in HY as [Y1 Y2]. apply Z.leb_le in Y1. apply Z.ltb_lt in Y2. split; [lia|].
      rewrite forallb_forall in H. intros C A other Ho D. specialize (H other (proj2 (ids_in classes other) Ho)).
      apply orb_prop in H as [H|H]; [apply Z.eqb_eq in H; contradiction|]. apply existsb_exists in H as ([others s] & I & H). cbn [fst] in H.
      apply existsb_exists in H as (o & O & Q). apply Z.eqb_eq in Q. subst o. exists others. split; [exact O|]. exact (list_trees_sound trees work left R others s C I A).
    Qed.
  End Lists.

  Definition kept (t y : Z) (others : list Z) (g : graph) : Prop := forall other, In other others -> value g t other < value g t y.

  Lemma keeps_spec t y others g : keeps p t y others g = true -> kept t y others g.
  Proof.
    unfold keeps. destruct (logit_of _ y) as [own|] eqn:O; [|discriminate]. apply logit_at in O as [_ ->]. rewrite forallb_forall. intros H other I.
    specialize (H other I). destruct (logit_of _ other) as [x|] eqn:X; [|discriminate]. apply logit_at in X as [_ ->]. apply Z.ltb_lt. exact H.
  Qed.

  (* A graph that is another one as far as rows are read keeps the class with it. *)
  Lemma kept_alike t y others g h : alike (rows_read g net [t]) g h -> kept t y others g -> kept t y others h.
  Proof. intros A K other I. rewrite <- !(values_alike V g h net [t] t) by (auto; left; reflexivity). apply K. exact I. Qed.

  Variable critical : Z -> Z -> list Z -> list edge -> list edge -> option (list edge).
  Hypothesis CRITICAL : forall t y others made left_out matter, NoDup made -> critical t y others made left_out = Some matter ->
    forall C, (forall c, In c matter -> In c C -> In c made) -> covered (kept t y others) made left_out C.

  Theorem judge_edges_sound by_prediction t y c :
    let found (R : Z -> Z -> Prop) := exists C other, admissible_changes E C /\ 0 <= other < classes /\ other <> y /\
      R (value (changed_graph E C) t y) (value (changed_graph E C) t other) in
    let is_predicted := 0 <= y < classes /\ forall other, 0 <= other < classes -> other <> y ->
      value (graph_of E) t other < value (graph_of E) t y \/ (value (graph_of E) t other = value (graph_of E) t y /\ y < other) in
    match judge_edges critical p by_prediction t y c with
    | Said IsRobust => forall C, admissible_changes E C -> forall other, 0 <= other < classes -> other <> y ->
        value (changed_graph E C) t other < value (changed_graph E C) t y
    | Said IsBroken => found Z.lt /\ (by_prediction = true -> is_predicted)
    | Said IsTied => found eq /\ (by_prediction = true -> is_predicted)
    | _ => True
    end.
  Proof.
    intros found is_predicted. destruct same_problem as (Ep & _ & Ec & _). unfold judge_edges. rewrite Ep, Ec. destruct c as [work trees|other C].
    - destruct (covers classes y trees) eqn:H; [|exact I]. destruct (list_trees _ _ _ _ work trees) as [left| |] eqn:R; try exact I.
      assert (forall (s : unit) others made, keeps p t y others (graph_after p made) = true -> kept t y others (graph_after p made)) as KS by (intros; apply keeps_spec; assumption).
      pose proof (all_covered t (kept t y) _ _ KS (kept_alike t y) (fun _ others => CRITICAL t y others) y work left trees H R) as [_ T].
      intros C A other Ho D. destruct (T C A other Ho D) as (others & O & K). exact (K other O).
    - destruct (is_admissible_changes E C && _ && _) eqn:H; [|exact I]. apply andb_prop in H as [H HP]. apply andb_prop in H as [HA HD].
      apply is_admissible_changes_spec in HA. apply negb_true_iff in HD. apply Z.eqb_neq in HD.
      assert (by_prediction = true -> is_predicted) as PR.
      { intros ->. cbn [negb orb] in HP. unfold leads in HP. destruct (logit_of _ y) as [own|] eqn:EO; [|discriminate]. apply logit_at in EO as [Hy ->].
        split; [exact Hy|]. intros o Ho Do. rewrite forallb_forall, logits_on_spec in HP. specialize (HP (o, value (graph_of E) t o)). cbn [fst snd] in HP.
        assert (In (o, value (graph_of E) t o) (map (fun j => (j, value (graph_of E) t j)) (ids classes))) as Io
          by (apply (in_map (fun j => (j, value (graph_of E) t j))); apply ids_in; assumption).
        specialize (HP Io). rewrite !orb_true_iff, andb_true_iff, !Z.eqb_eq, !Z.ltb_lt in HP. intuition. }
      destruct (logit_of (logits_on p t (graph_after p C)) y) as [a|] eqn:Ea; [|exact I]. destruct (logit_of (logits_on p t (graph_after p C)) other) as [b|] eqn:Eb; [|exact I].
      apply logit_at in Ea as [_ ->]. apply logit_at in Eb as [Ho ->].
      rewrite !(values_same V (graph_after p C) (changed_graph E C) net) by (intros; apply graph_after_spec).
      destruct (Z.ltb_spec (value (changed_graph E C) t y) (value (changed_graph E C) t other)) as [Q|Q].
      + split; [|exact PR]. exists C, other. auto.
      + destruct (Z.eqb_spec (value (changed_graph E C) t y) (value (changed_graph E C) t other)) as [Q'|]; [|exact I].
        split; [|exact PR]. exists C, other. auto.
  Qed.
End Listed.

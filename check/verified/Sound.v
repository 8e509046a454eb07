(* What the checker accepts is true of the rational network. *)
From Coq Require Import ZArith QArith List Bool Lia.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Units Leaf Losses Trees.
Import ListNotations.
Open Scope Z_scope.

Lemma bottom_ends net top first w : bottom net top = Some (first, w) -> ends net first.
Proof.
  revert top. induction net as [|l below IH]; intros top; cbn [bottom ends]; [discriminate|].
  destruct below as [|l' below']; [intros [= <- _]; reflexivity|]. apply IH.
Qed.

Lemma obeys_ext s net V W : (forall n d, V n d = W n d) -> zobeys s net V -> zobeys s net W.
Proof.
  intros E. induction net as [|l below IH]; cbn [zobeys]; auto. intros [H1 H2]. split; auto. intros n i. rewrite <- (zvalue_ext _ V W E). apply H1.
Qed.

Lemma whole_ext w net V W : (forall n d, V n d = W n d) -> zwhole w net V -> zwhole w net W.
Proof.
  intros E. induction net as [|l below IH]; cbn [zwhole]; auto. intros [H1 H2]. split; auto. intros n v Hv J i b I.
  rewrite <- (zvalue_ext _ V W E). apply (H1 n v Hv J i b I).
Qed.

Lemma value_ext net V W width o : (forall n d, V n d = W n d) -> zobjective net V width o = zobjective net W width o.
Proof. intros E. unfold zobjective. apply zsum_ext. intros e. apply against_ext. intros j. apply zvalue_ext. assumption. Qed.

(* Splits on flips. *)
Lemma forbid_admissible P f F : admissible P F -> ~ In f F -> admissible (forbid P f) F.
Proof.
  intros (ND & PF & Q & q) NI. repeat split; auto; cbn [forbid permitted count each].
  - destruct (PF f0 H) as [H1 H2]. destruct f0 as [n d]. cbn [fst snd] in *. destruct (same (n, d) f) eqn:E; auto. apply same_spec in E. subst. contradiction.
  - apply (PF f0 H).
  - apply (PF f0 H).
Qed.

Definition without (f : flip) (F : list flip) : list flip := filter (fun g => negb (same f g)) F.

Lemma one_of f F : NoDup F -> In f F -> zsum F (fun g => if same f g then 1 else 0) = 1.
Proof.
  induction F as [|g F IH]; intros ND I; [destruct I|]. inversion ND; subst. rewrite zsum_cons. destruct (same f g) eqn:E.
  - apply same_spec in E. subst g. rewrite zsum_zero; [lia|]. intros x Hx. destruct (same f x) eqn:Ex; auto. apply same_spec in Ex. subst. contradiction.
  - destruct I as [->|I]; [|rewrite IH; auto]. assert (same f f = true) by (apply same_spec; reflexivity). congruence.
Qed.

Lemma size_without f F : NoDup F -> In f F -> size (without f F) = size F - 1.
Proof.
  intros ND I. unfold size, without. rewrite !size_sum, zsum_filter. pose proof (one_of f F ND I).
  assert (zsum F (fun a => if negb (same f a) then 1 else 0) + zsum F (fun g => if same f g then 1 else 0) = zsum F (fun _ => 1)); [|lia].
  rewrite <- zsum_plus. apply zsum_ext. intros g. destruct (same f g); reflexivity.
Qed.

Lemma size_node_without f F n : NoDup F -> In f F -> size (of_node n (without f F)) = size (of_node n F) - (if Z.eqb n (fst f) then 1 else 0).
Proof.
  intros ND I. rewrite !size_of_node. unfold without. rewrite zsum_filter.
  assert (zsum F (fun g => if same f g then (if Z.eqb (fst g) n then 1 else 0) else 0) = if Z.eqb n (fst f) then 1 else 0) as K.
  { rewrite (zsum_ext F _ (fun g => (if Z.eqb n (fst f) then 1 else 0) * (if same f g then 1 else 0))).
    - rewrite zsum_scale, one_of; auto. lia.
    - intros g. destruct (same f g) eqn:E; [|lia]. apply same_spec in E. subst g. rewrite Z.eqb_sym. lia. }
  rewrite <- K.
  assert (zsum F (fun a => if negb (same f a) then if Z.eqb (fst a) n then 1 else 0 else 0) + zsum F (fun g => if same f g then if Z.eqb (fst g) n then 1 else 0 else 0)
          = zsum F (fun g => if Z.eqb (fst g) n then 1 else 0)); [|lia].
  rewrite <- zsum_plus. apply zsum_ext. intros g. destruct (same f g); cbn [negb]; lia.
Qed.

Lemma make_admissible P f F : admissible P F -> In f F -> admissible (make P f) (without f F).
Proof.
  intros (ND & PF & Q & q) I. split; [apply NoDup_filter; assumption|].
  assert (forall g, In g (without f F) -> In g F /\ same g f = false) as W.
  { intros g Hg. unfold without in Hg. apply filter_In in Hg as [H1 H2]. split; auto. apply negb_true_iff in H2.
    destruct (same g f) eqn:E; auto. apply same_spec in E. subst. assert (same f f = true) by (apply same_spec; reflexivity). congruence. }
  split; [|split]; cbn [make permitted count total each].
  - intros g Hg. destruct (W g Hg) as [H1 H2]. destruct (PF g H1) as [H3 H4]. split; auto. destruct g as [n d]. cbn [fst snd] in *. rewrite H2. assumption.
  - rewrite size_without by assumption. lia.
  - intros g Hg. destruct (W g Hg) as [H1 H2]. rewrite size_node_without by assumption. specialize (q g H1). destruct (Z.eqb (fst g) (fst f)); lia.
Qed.

(* Of flips that exclude each other in a row, one is made at most. *)
Definition apart (rivals : Z -> Z -> bool) (F : list flip) : Prop :=
  forall f g, In f F -> In g F -> fst f = fst g -> rivals (snd f) (snd g) = true -> f = g.

Lemma exclude_admissible rivals P f F : apart rivals F -> In f F -> admissible (make P f) (without f F) ->
  admissible (exclude rivals (make P f) f) (without f F).
Proof.
  intros AP I (ND & PF & Q & q). split; [exact ND|]. split; [|split; [exact Q|exact q]].
  intros g Hg. destruct (PF g Hg) as [H1 H2]. split; [|exact H2]. cbn [exclude permitted].
  destruct (Z.eqb_spec (fst g) (fst f)) as [E|]; cbn [andb]; [|exact H1]. destruct (rivals (snd f) (snd g)) eqn:R; [|exact H1].
  unfold without in Hg. apply filter_In in Hg as [G1 G2]. rewrite (AP f g I G1 (eq_sym E) R) in G2.
  assert (same g g = true) as S by (apply same_spec; reflexivity). rewrite S in G2. discriminate.
Qed.

Lemma apart_without rivals f F : apart rivals F -> apart rivals (without f F).
Proof. intros AP g k Hg Hk. unfold without in *. apply filter_In in Hg as [Hg _]. apply filter_In in Hk as [Hk _]. apply AP; assumption. Qed.

Lemma apart_none F : apart no_rivals F.
Proof. intros f g _ _ _ H. discriminate H. Qed.

Lemma make_flipped P f F : In f F -> forall n d, flipped (attributes (make P f)) (without f F) n d = flipped (attributes P) F n d.
Proof.
  intros I n d. unfold flipped. cbn [make attributes].
  assert (existsb (same (n, d)) (without f F) = existsb (same (n, d)) F && negb (same (n, d) f)) as ->.
  { unfold without. clear I. induction F as [|g F IH]; [reflexivity|]. cbn [filter existsb]. destruct (same f g) eqn:E; cbn [negb existsb].
    - rewrite IH. apply same_spec in E. subst g. destruct (same (n, d) f); cbn; [rewrite andb_false_r; reflexivity|reflexivity].
    - rewrite IH. destruct (same (n, d) g) eqn:E2; cbn [orb]; [|reflexivity]. destruct (same (n, d) f) eqn:E3; [|reflexivity].
      apply same_spec in E2, E3. subst f g. assert (same (n, d) (n, d) = true) by (apply same_spec; reflexivity). congruence. }
  destruct (same (n, d) f) eqn:E.
  - apply same_spec in E. subst f. rewrite andb_false_r.
    assert (existsb (same (n, d)) F = true) as -> by (apply existsb_exists; exists (n, d); split; auto; apply same_spec; reflexivity). reflexivity.
  - rewrite andb_true_r. reflexivity.
Qed.

(* Conditions on rows. *)
Definition moved_in (P : problem) (F : list flip) (n : Z) (removed : bool) : Z :=
  zsum F (fun f => if Z.eqb (fst f) n && Bool.eqb (attributes P n (snd f)) removed then 1 else 0).
Definition fulfils (P : problem) (F : list flip) (c : condition) : Prop :=
  let k := moved_in P F (on_row c) (on_removals c) in if exceeded c then at_most c < k else k <= at_most c.

Lemma zsum_without f F h : NoDup F -> In f F -> zsum F h = h f + zsum (without f F) h.
Proof.
  intros ND I. unfold without. rewrite zsum_filter. induction ND as [|g F NI ND IH]; [destruct I|]. rewrite !zsum_cons. destruct (same f g) eqn:E; cbn [negb].
  - apply same_spec in E. subst g. rewrite (zsum_ext_in F (fun a => if negb (same f a) then h a else 0) h); [lia|].
    intros a Ha. destruct (same f a) eqn:Ea; [|reflexivity]. apply same_spec in Ea. subst. contradiction.
  - destruct I as [->|I]; [|rewrite (IH I); lia]. assert (same f f = true) by (apply same_spec; reflexivity). congruence.
Qed.

Lemma relieved_fulfils P f F c : NoDup F -> In f F -> fulfils P F c -> fulfils (make P f) (without f F) (relieved P f c).
Proof.
  intros ND I H. unfold fulfils, relieved in *. cbn [on_row on_removals exceeded at_most].
  assert (moved_in P F (on_row c) (on_removals c) = moved_in (make P f) (without f F) (on_row c) (on_removals c)
    + if Z.eqb (on_row c) (fst f) && Bool.eqb (attributes P (fst f) (snd f)) (on_removals c) then 1 else 0) as E.
  { unfold moved_in. rewrite (zsum_without f F _ ND I), Z.add_comm. f_equal.
    - apply zsum_ext_in. intros g Hg. unfold without in Hg. apply filter_In in Hg as [_ Hg]. apply negb_true_iff in Hg. cbn [make attributes].
      destruct (Z.eqb_spec (fst g) (on_row c)) as [<-|]; [|reflexivity]. cbn [andb].
      destruct (same (fst g, snd g) f) eqn:Es; [|reflexivity]. apply same_spec in Es. destruct g as [n d]. cbn [fst snd] in Es. subst f.
      assert (same (n, d) (n, d) = true) by (apply same_spec; reflexivity). congruence.
    - rewrite (Z.eqb_sym (fst f)). destruct (Z.eqb_spec (on_row c) (fst f)) as [->|]; reflexivity. }
  destruct (Z.eqb (on_row c) (fst f) && _); destruct (exceeded c); lia.
Qed.

(* Splits on units. *)
Lemma know_obeys s net V number n i : zobeys s net V -> exists side, zobeys (know s number n i side) net V.
Proof.
  intros O.
  assert (exists side, counts (Some side) (match layers_from net 0 number with Some (net', _) => zvalue net' V n i | None => 0 end) = true) as (side & C).
  { set (z := match layers_from net 0 number with Some _ => _ | None => _ end). destruct (Z_le_gt_dec 0 z); [exists true|exists false]; cbn [counts]; apply Z.leb_le; lia. }
  exists side. revert C. generalize 0 at 1. induction net as [|l below IH]; intros top C; cbn [zobeys] in *; auto. destruct O as [O1 O2].
  cbn [layers_from] in C. destruct (Z.eqb_spec (layer_number (l :: below)) number) as [E|E].
  - split.
    + intros n' i'. unfold know. rewrite E, Z.eqb_refl. cbn [andb]. destruct (Z.eqb_spec n' n) as [->|]; cbn [andb]; [|rewrite <- E; apply O1].
      destruct (Z.eqb_spec i' i) as [->|]; [exact C|rewrite <- E; apply O1].
    + assert (forall net', (length net' <= length below)%nat -> zobeys s net' V -> zobeys (know s number n i side) net' V) as K.
      { induction net' as [|l' b' IH']; cbn [zobeys]; auto. intros L [H1 H2]. split; [|apply IH'; [cbn [length] in L; lia|assumption]].
        intros n' i'. unfold know. destruct (Z.eqb_spec (layer_number (l' :: b')) number) as [E'|]; cbn [andb]; [|apply H1].
        exfalso. unfold layer_number in E, E'. cbn [length] in *. lia. }
      apply K; auto.
  - split.
    + intros n' i'. unfold know. destruct (Z.eqb_spec (layer_number (l :: below)) number); [contradiction|]. cbn [andb]. apply O1.
    + apply (IH O2 (inputs l) C).
Qed.

(* What a way to read rows and to bound leaves has to be, for problems with as many attributes as the one that proofs are about. *)
Record sound (net : network Z) (top : Z) (P0 : problem) (excluding : Z -> Z -> bool) (reading : (Z -> Z -> bool) -> zrows) (p : prepared) : Prop := {
  same_net : of_net p = net; same_classes : classes p = top; same_count : attribute_count p = count P0; same_rivals : rivals p = excluding;
  same_root : root p = view_of p P0;
  reading_ext : forall X Y, (forall n d, X n d = Y n d) -> forall n d, reading X n d = reading Y n d;
  bound_holds : forall P F C s whole h net' width o, count P = count P0 -> admissible P F -> (forall c, In c C -> fulfils P F c) ->
    (forall first, ends net first -> ends net' first) ->
    zobeys s net' (reading (flipped (attributes P) F)) -> zwhole whole net' (reading (flipped (attributes P) F)) ->
    match bound_of (view_of p P) C s whole h net' width o with
    | Got b => b <= zobjective net' (reading (flipped (attributes P) F)) width o
    | Impossible => False
    | Failed => True
    end;
  intervals_hold : forall P F whole h shortcut net' width wanted, count P = count P0 -> admissible P F ->
    (forall first, ends net first -> ends net' first) -> zwhole whole net' (reading (flipped (attributes P) F)) ->
    match intervals_of (view_of p P) whole h shortcut net' width wanted with
    | Got res => forall n b, In (n, b) res -> holds width (zvalue net' (reading (flipped (attributes P) F)) n) b
    | Impossible => False
    | Failed => True
    end;
  logits_hold : forall P F t, count P = count P0 -> logits_of (view_of p P) F t = map (zvalue net (reading (flipped (attributes P) F)) t) (ids top) }.

Lemma no_signs_obeyed net V : zobeys no_signs net V.
Proof. induction net as [|l below IH]; cbn [zobeys]; auto. Qed.

Lemma logits_from_spec net top first w read reading X F t sent : bottom net top = Some (first, w) -> sends first w (reading X) sent ->
  (forall Y, reads first (read Y) (reading Y)) -> (forall Y n, (forall d, X n d = Y n d) -> forall d, reading X n d = reading Y n d) ->
  logits_from net top first w read X sent (zforward net sent top) F t = map (zvalue net (reading (flipped X F)) t) (ids top).
Proof.
  intros B S R E. unfold logits_from. destruct F as [|f F].
  - exact (zforward_spec net _ _ first w top t B S).
  - apply (zforward_spec net _ _ first w top t B). apply (sent_after_spec _ first w _ (reading X)); [exact S|apply R|].
    intros n NI. apply E. intros d. unfold flipped. destruct (existsb (same (n, d)) (f :: F)) eqn:EX; [|reflexivity]. exfalso. apply NI.
    apply existsb_exists in EX as (g & I & G). apply same_spec in G. subst g. exact (in_map fst _ _ I).
Qed.

Lemma prepared_sound net top P0 excluding p : prepare net top P0 excluding = Some p -> sound net top P0 excluding entries p.
Proof.
  unfold prepare. destruct (bottom net top) as [[first w]|] eqn:B; [|discriminate]. destruct (Z.eqb_spec (inputs first) (count P0)) as [E|]; [|discriminate].
  intros [= <-]. pose proof (bottom_ends _ _ _ _ B) as EN0. constructor; try reflexivity.
  - intros X Y H n d. unfold entries. rewrite H. reflexivity.
  - intros P F C s whole h net' width o CP A _ EN O W. cbn [view_of plain_prepared bound_of plain_view]. rewrite <- CP in *.
    exact (bound_sound P F first w _ h A E (layer2_knows P first w _) s whole net' width o (EN _ EN0) O W).
  - intros P F whole h shortcut net' width wanted CP A EN W. cbn [view_of plain_prepared intervals_of plain_view]. rewrite <- CP in *.
    exact (intervals_sound P F no_signs whole first w _ h A E (layer2_knows P first w _) shortcut net' width wanted (EN _ EN0) (no_signs_obeyed _ _) W).
  - intros P F t CP. cbn [view_of plain_prepared logits_of plain_view].
    apply (logits_from_spec net top first w plain_rows entries (attributes P) F t _ B (sent_from_spec _ _ _ _ (plain_reads _ _))); [intros Y; apply plain_reads|].
    intros Y n H d. unfold entries. rewrite H. reflexivity.
Qed.

Section Prepared.
  Variables (net : network Z) (top : Z) (P0 : problem) (excluding : Z -> Z -> bool) (reading : (Z -> Z -> bool) -> zrows) (p : prepared).
  Hypothesis SOUND : sound net top P0 excluding reading p.
  Let after (P : problem) (F : list flip) : zrows := reading (flipped (attributes P) F).

  Lemma tree_above_sound least t : forall P C s F whole o, count P = count P0 -> admissible P F -> apart excluding F -> (forall c, In c C -> fulfils P F c) ->
    zobeys s net (after P F) -> zwhole whole net (after P F) ->
    tree_above p least P (view_of p P) C s whole o t = true -> least < zobjective net (after P F) top o.
  Proof.
    induction t as [h|k removed most t1 IH1 t2 IH2|f t1 IH1 t2 IH2|number n i t1 IH1 t2 IH2]; intros P C s F whole o CP A AP CO O W H; cbn [tree_above] in H.
    - pose proof (bound_holds _ _ _ _ _ _ SOUND P F C s whole h net top o CP A CO (fun _ e => e) O W) as T.
      rewrite (same_net _ _ _ _ _ _ SOUND), (same_classes _ _ _ _ _ _ SOUND) in H.
      destruct (bound_of (view_of p P) C s whole h net top o); [apply Z.ltb_lt in H; unfold after; lia|contradiction|discriminate].
    - apply andb_prop in H as [H1 H2].
      destruct (Z_le_gt_dec (moved_in P F k removed) most); [apply (IH1 P _ s F whole o CP A AP) in H1|apply (IH2 P _ s F whole o CP A AP) in H2]; auto;
        (intros c [<-|I]; [unfold fulfils; cbn [exceeded on_row on_removals at_most]; lia|auto]).
    - apply andb_prop in H as [H1 H2]. destruct (in_dec flip_dec f F) as [I|NI].
      + apply orb_prop in H2 as [H2|H2].
        * exfalso. destruct A as (ND & _ & Q & q). specialize (q f I).
          assert (0 < Spec.size (of_node (fst f) F)).
          { rewrite size_of_node. assert (1 <= zsum F (fun g => if Z.eqb (fst g) (fst f) then 1 else 0)); [|lia].
            etransitivity; [|apply (zsum_mem _ _ f I)]; cbn beta; [rewrite Z.eqb_refl; lia|]. intros b _. destruct (Z.eqb (fst b) (fst f)); lia. }
          pose proof (size_of_node_le (fst f) F). apply orb_prop in H2 as [H2|H2]; apply Z.leb_le in H2; lia.
        * assert (forall n d, after (exclude excluding (make P f) f) (without f F) n d = after P F n d) as EX
            by (intros n d; apply (reading_ext _ _ _ _ _ _ SOUND); intros; apply make_flipped; assumption).
          rewrite <- (value_ext net _ _ top o EX). rewrite (same_rivals _ _ _ _ _ _ SOUND) in H2.
          apply (IH2 (exclude excluding (make P f) f) (map (relieved P f) C) s (without f F) whole o); auto.
          -- apply exclude_admissible; auto. apply make_admissible; assumption.
          -- apply apart_without. assumption.
          -- intros c Hc. apply in_map_iff in Hc as (c' & <- & Hc). destruct A as (ND & _). exact (relieved_fulfils P f F c' ND I (CO c' Hc)).
          -- apply (obeys_ext s net (after P F)); auto.
          -- apply (whole_ext whole net (after P F)); auto.
      + apply (IH1 (forbid P f) C s F whole o); auto. apply forbid_admissible; assumption.
    - apply andb_prop in H as [H1 H2]. destruct (know_obeys s net _ number n i O) as ([|] & O'); eauto.
  Qed.

  Lemma tree_sound t : forall P C s F whole o, count P = count P0 -> admissible P F -> apart excluding F -> (forall c, In c C -> fulfils P F c) ->
    zobeys s net (after P F) -> zwhole whole net (after P F) ->
    tree_holds p P (view_of p P) C s whole o t = true -> 0 < zobjective net (after P F) top o.
  Proof. exact (tree_above_sound 0 t). Qed.

  (* Lines of bounds. *)
  Definition whole_sound (P : problem) (whole : bounds) : Prop := forall F, admissible P F -> zwhole whole net (after P F).

  Lemma no_bounds_sound P : whole_sound P no_bounds.
  Proof. intros F _. clear SOUND. induction net as [|l below IH]; cbn [zwhole]; auto. split; [discriminate|exact IH]. Qed.

  Lemma one_unit_value net' V width n i c : In i (ids width) -> zobjective net' V width (one_unit width n i c) = c * zvalue net' V n i.
  Proof.
    intros I. unfold zobjective, one_unit. rewrite zsum_cons, zsum_nil. cbn [fst snd]. rewrite against_map.
    rewrite (zsum_ext _ _ (fun u => if Z.eqb u i then c * zvalue net' V n u else 0)) by (intros u; destruct (Z.eqb u i); lia).
    rewrite (zsum_only _ i (fun u => c * zvalue net' V n u) (ids_nodup width) I). lia.
  Qed.

  Lemma layers_from_spec net0 top0 number net' width : layers_from net0 top0 number = Some (net', width) ->
    layer_number net' = number /\ (forall first, ends net0 first -> ends net' first) /\
    (forall w V, zwhole w net0 V -> zwhole w net' V) /\ net' <> [].
  Proof.
    revert top0. induction net0 as [|l below IH]; intros top0; cbn [layers_from]; [discriminate|].
    destruct (Z.eqb_spec (layer_number (l :: below)) number) as [E|E].
    - intros [= <- <-]. split; [exact E|]. split; [auto|]. split; [auto|discriminate].
    - intros H. destruct (IH _ H) as (H1 & H2 & H3 & H4). split; [exact H1|]. split; [|split; [|exact H4]].
      + intros first. cbn [ends]. destruct below; [discriminate H|]. apply H2.
      + intros w V [_ W]. apply H3. exact W.
  Qed.

  (* A bound for one layer's units is a bound wherever the layers are the same number of layers. *)
  Lemma whole_add whole V number n b net' top0 width : layers_from net top0 number = Some (net', width) -> zwhole whole net V ->
    (forall J i x, In (i, x) (combine (ids J) b) -> fst x <= zvalue net' V n i <= snd x) ->
    zwhole (fun number' n' => if Z.eqb number' number && Z.eqb n' n then Some b else whole number' n') net V.
  Proof.
    revert top0. clear SOUND after. induction net as [|l below IH]; intros top0 L W B; [exact I|]. cbn [layers_from] in L. destruct W as [W1 W2].
    destruct (Z.eqb_spec (layer_number (l :: below)) number) as [E|E].
    - inversion L; subst net' width. cbn [zwhole]. split.
      + intros n' w. rewrite E, Z.eqb_refl. cbn [andb]. destruct (Z.eqb_spec n' n) as [->|]; [intros [= <-]; exact B|]. rewrite <- E. apply W1.
      + clear IH L. assert (forall net', (length net' <= length below)%nat -> zwhole whole net' V ->
          zwhole (fun number' n' => if Z.eqb number' number && Z.eqb n' n then Some b else whole number' n') net' V) as K.
        { induction net' as [|l' b' IH']; cbn [zwhole]; auto. intros L [H1 H2]. split; [|apply IH'; [cbn [length] in L; lia|assumption]].
          intros n' w. destruct (Z.eqb_spec (layer_number (l' :: b')) number) as [E'|]; cbn [andb]; [|apply H1].
          exfalso. unfold layer_number in E, E'. cbn [length] in *. lia. }
        apply K; auto.
    - split; [|apply (IH (inputs l)); assumption]. intros n' w.
      destruct (Z.eqb_spec (layer_number (l :: below)) number); [contradiction|]. cbn [andb]. apply W1.
  Qed.

  Lemma in_ids_of_combine {B} J (l : list B) i b : In (i, b) (combine (ids J) l) -> In i (ids J).
  Proof. apply in_combine_l. Qed.

  (* Positions of a list are ids whatever the width. *)
  Lemma combine_ids_width {B} J J' (l : list B) i b : length l = length (ids J') -> In (i, b) (combine (ids J) l) -> In (i, b) (combine (ids J') l).
  Proof.
    unfold ids. generalize (Z.to_nat J) (Z.to_nat J'). intros a c. generalize 0. revert l c. induction a as [|a IH]; intros l c z L H; cbn [counting combine] in H; [destruct H|].
    destruct l as [|x l]; [destruct H|]. destruct c as [|c]; [discriminate|]. cbn [counting combine length] in *.
    destruct H as [H|H]; [left; exact H|right]. apply IH; auto.
  Qed.

  Lemma add_line_sound whole l whole' : whole_sound P0 whole -> add_line p whole l = Some whole' -> whole_sound P0 whole'.
  Proof.
    intros WS H F A. unfold add_line, line_bounds in H. rewrite (same_net _ _ _ _ _ _ SOUND), (same_classes _ _ _ _ _ _ SOUND), (same_root _ _ _ _ _ _ SOUND) in H.
    destruct (layers_from net top (at_layer l)) as [[net' width]|] eqn:L; [|discriminate].
    destruct (layers_from_spec _ _ _ _ _ L) as (L1 & L2 & L3 & _).
    pose proof (WS F A) as W. set (Y := after P0 F) in *.
    destruct (intervals_of (view_of p P0) whole (with_reach l) _ net' width [at_node l]) as [[|[n b] [|]]| |] eqn:EI; try discriminate.
    destruct (Z.eqb_spec n (at_node l)) as [->|]; [|discriminate]. inversion H; subst whole'. clear H.
    pose proof (intervals_hold _ _ _ _ _ _ SOUND P0 F whole (with_reach l) (Z.leb 4 (at_layer l)) net' width [at_node l] eq_refl A L2 (L3 _ _ W)) as IS.
    rewrite EI in IS. specialize (IS (at_node l) b (or_introl eq_refl)). fold (after P0 F) in IS. fold Y in IS. destruct IS as [LB HB].
    apply (whole_add _ _ _ _ _ net' top width L W). intros J i x I.
    apply (combine_ids_width J width) in I; [|rewrite map_length, combine_length, LB; lia].
    set (f := fun q : Z * (Z * Z) => _) in I.
    assert (exists bd, In (i, bd) (combine (ids width) b) /\ x = f (i, bd)) as (bd & Ib & ->).
    { clear - I. revert I. generalize (ids width). intros u. revert b. induction u as [|v u IH]; intros [|y b]; cbn [combine map In]; try tauto.
      intros [Eq|I]; [inversion Eq; subst; eauto|]. destruct (IH _ I) as (bd & ? & ?). eauto. }
    specialize (HB i bd Ib). pose proof (in_ids_of_combine _ _ _ _ Ib) as Ii. unfold f. cbn [fst snd].
    destruct (List.find _ (units l)) as [[u [lows highs]]|]; [|exact HB]. cbn [fst snd].
    pose proof (fun h c => bound_holds _ _ _ _ _ _ SOUND P0 F [] no_signs whole h net' width (one_unit width (at_node l) i c) eq_refl A (fun _ (e : False) => match e with end) L2 (no_signs_obeyed _ _) (L3 _ _ W)) as T.
    fold (after P0 F) in T. fold Y in T. split.
    - assert (forall low, low <= zvalue net' Y (at_node l) i -> fold_left (raise_low p whole net' width (at_node l) i) lows low <= zvalue net' Y (at_node l) i) as K; [|apply K; lia].
      induction lows as [|[c h] lows IH]; intros low Hl; cbn [fold_left]; auto. apply IH. unfold raise_low. rewrite (same_root _ _ _ _ _ _ SOUND). cbn [fst snd]. destruct (Z.ltb_spec 0 c); auto.
      specialize (T h c). destruct (bound_of (view_of p P0) [] no_signs whole h net' width _) as [v| |]; auto. rewrite one_unit_value in T by assumption.
      apply Z.max_lub; auto. assert (- zvalue net' Y (at_node l) i <= (- v) / c); [|lia]. apply Z.div_le_lower_bound; lia.
    - assert (forall high, zvalue net' Y (at_node l) i <= high -> zvalue net' Y (at_node l) i <= fold_left (lower_high p whole net' width (at_node l) i) highs high) as K; [|apply K; lia].
      induction highs as [|[c h] highs IH]; intros high Hh; cbn [fold_left]; auto. apply IH. unfold lower_high. rewrite (same_root _ _ _ _ _ _ SOUND). cbn [fst snd]. destruct (Z.ltb_spec 0 c); auto.
      specialize (T h (- c)). destruct (bound_of (view_of p P0) [] no_signs whole h net' width _) as [v| |]; auto. rewrite one_unit_value in T by assumption.
      apply Z.min_glb; auto. apply Z.div_le_lower_bound; lia.
  Qed.

  (* Margins, logits, admissible sets. *)
  Lemma margin_value V t y other scale : In y (ids top) -> In other (ids top) -> other <> y ->
    zobjective net V top (margin p t y other scale) = scale * (zvalue net V t y - zvalue net V t other).
  Proof.
    intros Iy Io D. unfold zobjective, margin. rewrite (same_classes _ _ _ _ _ _ SOUND), zsum_cons, zsum_nil. cbn [fst snd]. rewrite against_map.
    rewrite (zsum_ext _ _ (fun u => (if Z.eqb u y then scale * zvalue net V t u else 0) + (if Z.eqb u other then - scale * zvalue net V t u else 0))).
    - rewrite zsum_plus, (zsum_only _ y (fun u => scale * zvalue net V t u) (ids_nodup top) Iy), (zsum_only _ other (fun u => - scale * zvalue net V t u) (ids_nodup top) Io). lia.
    - intros u. destruct (Z.eqb_spec u y) as [E1|]; destruct (Z.eqb_spec u other) as [E2|]; try lia.
  Qed.

  Lemma distinct_spec F : distinct F = true -> NoDup F.
  Proof.
    induction F as [|f F IH]; intros H; constructor; cbn [distinct] in H; apply andb_prop in H as [H1 H2]; auto.
    intros I. apply negb_true_iff in H1. assert (existsb (same f) F = true); [|congruence]. apply existsb_exists. exists f. split; auto. apply same_spec. reflexivity.
  Qed.

  Lemma is_admissible_spec P F : is_admissible P F = true -> admissible P F.
  Proof.
    unfold is_admissible. intros H. apply andb_prop in H as [H H4]. apply andb_prop in H as [H H3]. apply andb_prop in H as [H1 H2].
    rewrite forallb_forall in H2, H4. split; [apply distinct_spec; assumption|]. split; [|split].
    - intros f Hf. specialize (H2 f Hf). apply andb_prop in H2 as [H2 H5]. apply andb_prop in H2 as [H2 H6]. apply Z.leb_le in H6. apply Z.ltb_lt in H5. auto.
    - apply Z.leb_le. assumption.
    - intros f Hf. apply Z.leb_le. apply H4. assumption.
  Qed.

  Lemma are_apart_spec F : are_apart p F = true -> apart excluding F.
  Proof.
    unfold are_apart. rewrite (same_rivals _ _ _ _ _ _ SOUND), forallb_forall. intros H f g Hf Hg E R.
    specialize (H f Hf). rewrite forallb_forall in H. specialize (H g Hg). rewrite E, Z.eqb_refl, R in H. apply same_spec. exact H.
  Qed.

  Lemma logits_spec t F : logits p t F = map (fun j => (j, zvalue net (after P0 F) t j)) (ids top).
  Proof.
    unfold logits. rewrite (same_root _ _ _ _ _ _ SOUND), (same_classes _ _ _ _ _ _ SOUND), (logits_hold _ _ _ _ _ _ SOUND P0 F t eq_refl).
    fold (after P0 F). induction (ids top) as [|j r IH]; [reflexivity|]. cbn [map combine]. rewrite IH. reflexivity.
  Qed.

  Lemma logit_of_spec t F y z : logit_of (logits p t F) y = Some z -> 0 <= y < top /\ z = zvalue net (after P0 F) t y.
  Proof.
    rewrite logits_spec. unfold logit_of. destruct (List.find _ _) as [e|] eqn:Fd; [|discriminate]. intros [= <-]. apply find_some in Fd as [I E].
    apply Z.eqb_eq in E. apply in_map_iff in I as (j & <- & I). cbn [fst snd] in *. subst j. apply ids_in in I. auto.
  Qed.
End Prepared.

(* The theorems, first in integers: `z` are those of the network of the statement. *)
Section Judged.
  Variables (z : network Z) (P : problem) (classes : Z) (excluding : Z -> Z -> bool) (reading : (Z -> Z -> bool) -> zrows) (p : prepared).
  Hypothesis SOUND : sound z classes P excluding reading p.
  Let after (F : list flip) : zrows := reading (flipped (attributes P) F).

  (* A list of lines of bounds, each justified by those before it. *)
  Fixpoint all_lines (whole : bounds) (ls : list bounds_line) : option bounds :=
    match ls with
    | [] => Some whole
    | l :: rest => match add_line p whole l with Some whole' => all_lines whole' rest | None => None end
    end.

  Lemma all_lines_sound ls : forall whole whole', whole_sound z reading P whole -> all_lines whole ls = Some whole' -> whole_sound z reading P whole'.
  Proof.
    induction ls as [|l ls IH]; intros whole whole' W H; cbn [all_lines] in H; [inversion H; subst; exact W|].
    destruct (add_line p whole l) as [w|] eqn:E; [|discriminate]. apply (IH w); auto.
    exact (add_line_sound z classes P excluding reading p SOUND whole l w W E).
  Qed.

  Definition zpredicted (t y : Z) : Prop :=
    0 <= y < classes /\ forall other, 0 <= other < classes -> other <> y ->
    zvalue z (after []) t other < zvalue z (after []) t y \/ (zvalue z (after []) t other = zvalue z (after []) t y /\ y < other).

  Lemma robust_holds_sound whole t y s trees : whole_sound z reading P whole -> robust_holds p P whole t y s trees = true ->
    0 <= y < classes /\ forall F, admissible P F -> apart excluding F -> forall other, 0 <= other < classes -> other <> y ->
    zvalue z (after F) t other < zvalue z (after F) t y.
  Proof.
    intros WS H. unfold robust_holds in H. rewrite (same_classes _ _ _ _ _ _ SOUND) in H. apply andb_prop in H as [H HT]. apply andb_prop in H as [H Hy2].
    apply andb_prop in H as [Hs Hy1]. apply Z.ltb_lt in Hs, Hy2. apply Z.leb_le in Hy1. rewrite forallb_forall in HT. split; [lia|]. intros F A AP other Ho D.
    specialize (HT other (proj2 (ids_in classes other) Ho)). destruct (Z.eqb_spec other y) as [E|_]; [contradiction|]. cbn [orb] in HT.
    destruct (List.find _ trees) as [e|]; [|discriminate].
    rewrite (same_root _ _ _ _ _ _ SOUND) in HT.
    pose proof (tree_sound z classes P excluding reading p SOUND (snd e) P [] no_signs F whole _ eq_refl A AP (fun _ (e : False) => match e with end) (no_signs_obeyed z _) (WS F A) HT) as T.
    rewrite (margin_value z classes P excluding reading p SOUND) in T; [unfold after; nia|apply ids_in; lia|apply ids_in; lia|assumption].
  Qed.

  Lemma is_predicted_spec t y : is_predicted p t y = true <-> zpredicted t y.
  Proof.
    unfold is_predicted, leads. pose proof (logits_spec z classes P excluding reading p SOUND t []) as LS. fold (after []) in LS. split.
    - intros HP. destruct (logit_of (logits p t []) y) as [own|] eqn:EO; [|discriminate].
      apply (logit_of_spec z classes P excluding reading p SOUND) in EO as [Hy ->]. split; [exact Hy|]. intros o Ho Do.
      rewrite forallb_forall, LS in HP. specialize (HP (o, zvalue z (after []) t o)). cbn [fst snd] in HP.
      assert (In (o, zvalue z (after []) t o) (map (fun j => (j, zvalue z (after []) t j)) (ids classes))) as Io
        by (apply (in_map (fun j => (j, zvalue z (after []) t j))); apply ids_in; assumption).
      specialize (HP Io). apply orb_prop in HP as [HP|HP]; [apply orb_prop in HP as [HP|HP]|].
      + apply Z.eqb_eq in HP. contradiction.
      + left. apply Z.ltb_lt. exact HP.
      + apply andb_prop in HP as [H1 H2]. right. split; [apply Z.eqb_eq; exact H1|apply Z.ltb_lt; assumption].
    - intros [Hy H]. destruct (logit_of (logits p t []) y) as [own|] eqn:EO.
      + apply (logit_of_spec z classes P excluding reading p SOUND) in EO as [_ ->]. rewrite forallb_forall, LS. intros e I.
        apply in_map_iff in I as (o & <- & I). cbn [fst snd]. apply ids_in in I. fold (after []). destruct (Z.eqb_spec o y) as [|D]; [reflexivity|]. cbn [orb].
        destruct (H o I D) as [L|[E L]]; [apply Z.ltb_lt in L; rewrite L; reflexivity|]. apply Z.eqb_eq in E. apply Z.ltb_lt in L. rewrite E, L, orb_true_r. reflexivity.
      + exfalso. unfold logit_of in EO. destruct (List.find _ _) eqn:Fd; [discriminate|].
        assert (Z.eqb (fst (y, zvalue z (after []) t y)) y = false) as C; [|cbn [fst] in C; rewrite Z.eqb_refl in C; discriminate].
        apply (find_none _ _ Fd). rewrite LS. apply (in_map (fun j => (j, zvalue z (after []) t j))). apply ids_in. exact Hy.
  Qed.

  Theorem judge_sound (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
    all_lines no_bounds lines = Some whole ->
    let found (R : Z -> Z -> Prop) := exists F other, admissible P F /\ apart excluding F /\ 0 <= other < classes /\ other <> y /\
      R (zvalue z (after F) t y) (zvalue z (after F) t other) in
    match judge p P whole by_prediction t y c with
    | Some IsRobust => forall F, admissible P F -> apart excluding F -> forall other, 0 <= other < classes -> other <> y ->
        zvalue z (after F) t other < zvalue z (after F) t y
    | Some IsBroken => found Z.lt /\ (by_prediction = true -> zpredicted t y)
    | Some IsTied => found eq /\ (by_prediction = true -> zpredicted t y)
    | None => True
    end.
  Proof.
    intros HL found. pose proof (all_lines_sound lines no_bounds whole (no_bounds_sound z reading P) HL) as WS.
    unfold judge. rewrite (same_count _ _ _ _ _ _ SOUND), Z.eqb_refl. destruct c as [s trees|other F].
    - destruct (robust_holds p P whole t y s trees) eqn:H; [|exact I]. exact (proj2 (robust_holds_sound whole t y s trees WS H)).
    - destruct (is_admissible P F && are_apart p F && negb (Z.eqb other y) && (negb by_prediction || is_predicted p t y)) eqn:H; [|exact I].
      apply andb_prop in H as [H HP]. apply andb_prop in H as [H HD]. apply andb_prop in H as [HA HR]. apply is_admissible_spec in HA.
      apply (are_apart_spec z classes P excluding reading p SOUND) in HR. apply negb_true_iff in HD. apply Z.eqb_neq in HD.
      assert (by_prediction = true -> zpredicted t y) as PR by (intros ->; apply is_predicted_spec; exact HP).
      destruct (logit_of (logits p t F) y) as [a|] eqn:Ea; [|exact I]. destruct (logit_of (logits p t F) other) as [b|] eqn:Eb; [|exact I].
      apply (logit_of_spec z classes P excluding reading p SOUND) in Ea as [_ ->]. apply (logit_of_spec z classes P excluding reading p SOUND) in Eb as [Ho ->].
      change (reading (flipped (attributes P) F)) with (after F).
      destruct (Z.ltb_spec (zvalue z (after F) t y) (zvalue z (after F) t other)) as [L|L].
      + split; [|exact PR]. exists F, other. auto.
      + destruct (Z.eqb_spec (zvalue z (after F) t y) (zvalue z (after F) t other)) as [E|]; [|exact I].
        split; [|exact PR]. exists F, other. auto.
  Qed.
End Judged.

(* What is said of integers is true of the rational network `net`. *)
Section Theorems.
  Variables (scale : Q) (net : network Q) (z : network Z).
  Hypothesis SCALED : scaled 1 scale net z.

  Lemma zpredicted_predicted P classes t y : zpredicted z P classes entries t y -> predicted net (numbers (attributes P)) classes t y.
  Proof.
    intros [Hy H]. split; [exact Hy|]. intros other Ho D. destruct (H other Ho D) as [L|[E L]]; [left|right; split; [|exact L]].
    - apply (scaled_lt scale net z _ t other y SCALED). exact L.
    - apply (scaled_eq scale net z _ t other y SCALED). exact E.
  Qed.

  Theorem check_sound (P : problem) (classes : Z) (p : prepared)
      (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
    prepare z classes P no_rivals = Some p ->
    all_lines p no_bounds lines = Some whole ->
    match judge p P whole by_prediction t y c with
    | Some IsRobust => robust net (by_flips P) classes t y
    | Some IsBroken => broken net (by_flips P) classes t y /\ (by_prediction = true -> predicted net (numbers (attributes P)) classes t y)
    | Some IsTied => tied net (by_flips P) classes t y /\ (by_prediction = true -> predicted net (numbers (attributes P)) classes t y)
    | None => True
    end.
  Proof.
    intros HP HL. pose proof (judge_sound z P classes no_rivals entries p (prepared_sound _ _ _ _ _ HP) lines whole by_prediction t y c HL) as J. cbn zeta in J.
    destruct (judge p P whole by_prediction t y c) as [[| |]|]; [| | |exact I].
    - intros X (F & A & ->) other Ho D. apply (scaled_lt scale net z _ t other y SCALED). apply J; auto using apart_none.
    - destruct J as [(F & other & A & _ & Ho & D & L) PR]. split; [|intros B; apply zpredicted_predicted; auto].
      exists (numbers (flipped (attributes P) F)), other. split; [exists F; auto|]. split; [exact Ho|]. split; [exact D|].
      apply (scaled_lt scale net z _ t y other SCALED). exact L.
    - destruct J as [(F & other & A & _ & Ho & D & L) PR]. split; [|intros B; apply zpredicted_predicted; auto].
      exists (numbers (flipped (attributes P) F)), other. split; [exists F; auto|]. split; [exact Ho|]. split; [exact D|].
      apply (scaled_eq scale net z _ t y other SCALED). exact L.
  Qed.
End Theorems.

Print Assumptions check_sound.

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

Lemma obeys_ext s net X Y : (forall n d, X n d = Y n d) -> obeys s net X -> obeys s net Y.
Proof.
  intros E. induction net as [|l below IH]; cbn [obeys]; auto. intros [H1 H2]. split; auto. intros n i. rewrite <- (zpre_ext _ X Y E). apply H1.
Qed.

Lemma whole_ext w net X Y : (forall n d, X n d = Y n d) -> whole_holds w net X -> whole_holds w net Y.
Proof.
  intros E. induction net as [|l below IH]; cbn [whole_holds]; auto. intros [H1 H2]. split; auto. intros n v Hv J i b I.
  rewrite <- (zpre_ext _ X Y E). apply (H1 n v Hv J i b I).
Qed.

Lemma value_ext net X Y width o : (forall n d, X n d = Y n d) -> objective_value net X width o = objective_value net Y width o.
Proof. intros E. unfold objective_value. apply zsum_ext. intros e. apply against_ext. intros j. apply zpre_ext. assumption. Qed.

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

(* Splits on units. *)
Lemma know_obeys s net X number n i : obeys s net X -> exists side, obeys (know s number n i side) net X.
Proof.
  intros O.
  assert (exists side, counts (Some side) (match layers_from net 0 number with Some (net', _) => zpre net' X n i | None => 0 end) = true) as (side & C).
  { set (z := match layers_from net 0 number with Some _ => _ | None => _ end). destruct (Z_le_gt_dec 0 z); [exists true|exists false]; cbn [counts]; apply Z.leb_le; lia. }
  exists side. revert C. generalize 0 at 1. induction net as [|l below IH]; intros top C; cbn [obeys] in *; auto. destruct O as [O1 O2].
  cbn [layers_from] in C. destruct (Z.eqb_spec (layer_number (l :: below)) number) as [E|E].
  - split.
    + intros n' i'. unfold know. rewrite E, Z.eqb_refl. cbn [andb]. destruct (Z.eqb_spec n' n) as [->|]; cbn [andb]; [|rewrite <- E; apply O1].
      destruct (Z.eqb_spec i' i) as [->|]; [exact C|rewrite <- E; apply O1].
    + assert (forall net', (length net' <= length below)%nat -> obeys s net' X -> obeys (know s number n i side) net' X) as K.
      { induction net' as [|l' b' IH']; cbn [obeys]; auto. intros L [H1 H2]. split; [|apply IH'; [cbn [length] in L; lia|assumption]].
        intros n' i'. unfold know. destruct (Z.eqb_spec (layer_number (l' :: b')) number) as [E'|]; cbn [andb]; [|apply H1].
        exfalso. unfold layer_number in E, E'. cbn [length] in *. lia. }
      apply K; auto.
  - split.
    + intros n' i'. unfold know. destruct (Z.eqb_spec (layer_number (l :: below)) number); [contradiction|]. cbn [andb]. apply O1.
    + apply (IH O2 (inputs l) C).
Qed.

Section Prepared.
  Variables (net : network Z) (top size : Z) (excluding : Z -> Z -> bool) (p : prepared).
  Hypothesis PREPARED : prepare net top size excluding = Some p.

  Lemma prepared_parts : exists first, ends net first /\ inputs first = size /\ of_net p = net /\ classes p = top /\ attribute_count p = size /\
    made_ready p = all_ready size (width2 p) first /\ weight_rows p = attribute_rows size (width2 p) first /\ rivals p = excluding.
  Proof.
    unfold prepare in PREPARED. destruct (bottom net top) as [[first w]|] eqn:B; [|discriminate].
    destruct (Z.eqb_spec (inputs first) size); [|discriminate]. inversion PREPARED. subst p. exists first.
    repeat split; auto. apply (bottom_ends _ _ _ _ B).
  Qed.

  Lemma target_sound P F s whole h net' width o : count P = size -> admissible P F ->
    (forall first, ends net first -> ends net' first) ->
    obeys s net' (flipped (attributes P) F) -> whole_holds whole net' (flipped (attributes P) F) ->
    match target_bound p P s whole h net' width o with
    | Got b => b <= objective_value net' (flipped (attributes P) F) width o
    | Impossible => False
    | Failed => True
    end.
  Proof.
    intros C A EN O W. destruct prepared_parts as (first & E & I & _ & _ & _ & R1 & R2 & _). unfold target_bound. rewrite R1, R2, <- C.
    apply (bound_sound P F first (width2 p) (width2 p) h A); auto. rewrite I. auto.
  Qed.

  Lemma tree_sound t : forall P s F whole o, count P = size -> admissible P F -> apart excluding F ->
    obeys s net (flipped (attributes P) F) -> whole_holds whole net (flipped (attributes P) F) ->
    tree_holds p P s whole o t = true -> 0 < objective_value net (flipped (attributes P) F) top o.
  Proof.
    induction t as [h|f t1 IH1 t2 IH2|number n i t1 IH1 t2 IH2]; intros P s F whole o C A AP O W H; cbn [tree_holds] in H.
    - pose proof (target_sound P F s whole h net top o C A (fun _ e => e) O W) as T.
      destruct prepared_parts as (first & _ & _ & -> & -> & _) in H.
      destruct (target_bound p P s whole h net top o); [apply Z.ltb_lt in H; lia|contradiction|discriminate].
    - apply andb_prop in H as [H1 H2]. destruct (in_dec flip_dec f F) as [I|NI].
      + apply orb_prop in H2 as [H2|H2].
        * exfalso. destruct A as (ND & _ & Q & q). specialize (q f I).
          assert (0 < Spec.size (of_node (fst f) F)).
          { rewrite size_of_node. assert (1 <= zsum F (fun g => if Z.eqb (fst g) (fst f) then 1 else 0)); [|lia].
            etransitivity; [|apply (zsum_mem _ _ f I)]; cbn beta; [rewrite Z.eqb_refl; lia|]. intros b _. destruct (Z.eqb (fst b) (fst f)); lia. }
          pose proof (size_of_node_le (fst f) F). apply orb_prop in H2 as [H2|H2]; apply Z.leb_le in H2; lia.
        * rewrite <- (value_ext net _ _ top o (make_flipped P f F I)). destruct prepared_parts as (_ & _ & _ & _ & _ & _ & _ & _ & ER). rewrite ER in H2.
          apply (IH2 (exclude excluding (make P f) f) s (without f F) whole o); auto.
          -- apply exclude_admissible; auto. apply make_admissible; assumption.
          -- apply apart_without. assumption.
          -- apply (obeys_ext s net (flipped (attributes P) F)); auto. intros. symmetry. apply make_flipped. assumption.
          -- apply (whole_ext whole net (flipped (attributes P) F)); auto. intros. symmetry. apply make_flipped. assumption.
      + apply (IH1 (forbid P f) s F whole o); auto. apply forbid_admissible; assumption.
    - apply andb_prop in H as [H1 H2]. destruct (know_obeys s net _ number n i O) as ([|] & O'); eauto.
  Qed.

  (* Lines of bounds. *)
  Definition whole_sound (P : problem) (whole : bounds) : Prop := forall F, admissible P F -> whole_holds whole net (flipped (attributes P) F).

  Lemma no_bounds_sound P : whole_sound P no_bounds.
  Proof. intros F _. clear PREPARED. induction net as [|l below IH]; cbn [whole_holds]; auto. split; [discriminate|exact IH]. Qed.

  Lemma no_signs_obeyed net' X : obeys no_signs net' X.
  Proof. induction net' as [|l below IH]; cbn [obeys]; auto. Qed.

  Lemma one_unit_value net' X width n i c : In i (ids width) -> objective_value net' X width (one_unit width n i c) = c * zpre net' X n i.
  Proof.
    intros I. unfold objective_value, one_unit. rewrite zsum_cons, zsum_nil. cbn [fst snd]. rewrite against_map.
    rewrite (zsum_ext _ _ (fun u => if Z.eqb u i then c * zpre net' X n u else 0)) by (intros u; destruct (Z.eqb u i); lia).
    rewrite (zsum_only _ i (fun u => c * zpre net' X n u) (ids_nodup width) I). lia.
  Qed.

  Lemma layers_from_spec net0 top0 number net' width : layers_from net0 top0 number = Some (net', width) ->
    layer_number net' = number /\ (forall first, ends net0 first -> ends net' first) /\
    (forall w X, whole_holds w net0 X -> whole_holds w net' X) /\ net' <> [].
  Proof.
    revert top0. induction net0 as [|l below IH]; intros top0; cbn [layers_from]; [discriminate|].
    destruct (Z.eqb_spec (layer_number (l :: below)) number) as [E|E].
    - intros [= <- <-]. split; [exact E|]. split; [auto|]. split; [auto|discriminate].
    - intros H. destruct (IH _ H) as (H1 & H2 & H3 & H4). split; [exact H1|]. split; [|split; [|exact H4]].
      + intros first. cbn [ends]. destruct below; [discriminate H|]. apply H2.
      + intros w X [_ W]. apply H3. exact W.
  Qed.

  (* A bound for one layer's units is a bound wherever the layers are the same number of layers. *)
  Lemma whole_add whole X number n b net' top0 width : layers_from net top0 number = Some (net', width) -> whole_holds whole net X ->
    (forall J i x, In (i, x) (combine (ids J) b) -> fst x <= zpre net' X n i <= snd x) ->
    whole_holds (fun number' n' => if Z.eqb number' number && Z.eqb n' n then Some b else whole number' n') net X.
  Proof.
    revert top0. clear PREPARED. induction net as [|l below IH]; intros top0 L W B; [exact I|]. cbn [layers_from] in L. destruct W as [W1 W2].
    destruct (Z.eqb_spec (layer_number (l :: below)) number) as [E|E].
    - inversion L; subst net' width. cbn [whole_holds]. split.
      + intros n' w. rewrite E, Z.eqb_refl. cbn [andb]. destruct (Z.eqb_spec n' n) as [->|]; [intros [= <-]; exact B|]. rewrite <- E. apply W1.
      + clear IH L. assert (forall net', (length net' <= length below)%nat -> whole_holds whole net' X ->
          whole_holds (fun number' n' => if Z.eqb number' number && Z.eqb n' n then Some b else whole number' n') net' X) as K.
        { induction net' as [|l' b' IH']; cbn [whole_holds]; auto. intros L [H1 H2]. split; [|apply IH'; [cbn [length] in L; lia|assumption]].
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

  Lemma add_line_sound P whole l whole' : count P = size -> whole_sound P whole -> add_line p P whole l = Some whole' -> whole_sound P whole'.
  Proof.
    intros C WS H F A. unfold add_line, line_bounds in H. destruct prepared_parts as (first & E & IN & EN & EC & _ & R1 & _). rewrite EN, EC in H.
    destruct (layers_from net top (at_layer l)) as [[net' width]|] eqn:L; [|discriminate].
    destruct (layers_from_spec _ _ _ _ _ L) as (L1 & L2 & L3 & _).
    pose proof (WS F A) as W. set (Y := flipped (attributes P) F) in *.
    destruct (intervals P no_signs whole (made_ready p) (with_reach l) _ net' width [at_node l]) as [[|[n b] [|]]| |] eqn:EI; try discriminate.
    destruct (Z.eqb_spec n (at_node l)) as [->|]; [|discriminate]. inversion H; subst whole'. clear H.
    pose proof (intervals_sound P F no_signs whole first (width2 p) (with_reach l) A (eq_trans IN (eq_sym C)) (Z.leb 4 (at_layer l)) net' width [at_node l] (L2 _ E) (no_signs_obeyed _ _) (L3 _ _ W)) as IS.
    rewrite R1, <- C in EI. rewrite EI in IS. specialize (IS (at_node l) b (or_introl eq_refl)). fold Y in IS. destruct IS as [LB HB].
    apply (whole_add _ _ _ _ _ net' top width L W). intros J i x I.
    apply (combine_ids_width J width) in I; [|rewrite map_length, combine_length, LB; lia].
    set (f := fun q : Z * (Z * Z) => _) in I.
    assert (exists bd, In (i, bd) (combine (ids width) b) /\ x = f (i, bd)) as (bd & Ib & ->).
    { clear - I. revert I. generalize (ids width). intros u. revert b. induction u as [|v u IH]; intros [|y b]; cbn [combine map In]; try tauto.
      intros [Eq|I]; [inversion Eq; subst; eauto|]. destruct (IH _ I) as (bd & ? & ?). eauto. }
    specialize (HB i bd Ib). pose proof (in_ids_of_combine _ _ _ _ Ib) as Ii. unfold f. cbn [fst snd].
    destruct (List.find _ (units l)) as [[u [lows highs]]|]; [|exact HB]. cbn [fst snd].
    pose proof (fun h c => target_sound P F no_signs whole h net' width (one_unit width (at_node l) i c) C A L2 (no_signs_obeyed _ _) (L3 _ _ W)) as T.
    fold Y in T. split.
    - assert (forall low, low <= zpre net' Y (at_node l) i -> fold_left (raise_low p P whole net' width (at_node l) i) lows low <= zpre net' Y (at_node l) i) as K; [|apply K; lia].
      induction lows as [|[c h] lows IH]; intros low Hl; cbn [fold_left]; auto. apply IH. unfold raise_low. cbn [fst snd]. destruct (Z.ltb_spec 0 c); auto.
      specialize (T h c). destruct (target_bound p P no_signs whole h net' width _) as [v| |]; auto. rewrite one_unit_value in T by assumption.
      apply Z.max_lub; auto. assert (- zpre net' Y (at_node l) i <= (- v) / c); [|lia]. apply Z.div_le_lower_bound; lia.
    - assert (forall high, zpre net' Y (at_node l) i <= high -> zpre net' Y (at_node l) i <= fold_left (lower_high p P whole net' width (at_node l) i) highs high) as K; [|apply K; lia].
      induction highs as [|[c h] highs IH]; intros high Hh; cbn [fold_left]; auto. apply IH. unfold lower_high. cbn [fst snd]. destruct (Z.ltb_spec 0 c); auto.
      specialize (T h (- c)). destruct (target_bound p P no_signs whole h net' width _) as [v| |]; auto. rewrite one_unit_value in T by assumption.
      apply Z.min_glb; auto. apply Z.div_le_lower_bound; lia.
  Qed.

  (* Margins, logits, admissible sets. *)
  Lemma margin_value X t y other scale : In y (ids top) -> In other (ids top) -> other <> y ->
    objective_value net X top (margin p t y other scale) = scale * (zpre net X t y - zpre net X t other).
  Proof.
    intros Iy Io D. destruct prepared_parts as (_ & _ & _ & _ & EC & _). unfold objective_value, margin. rewrite EC, zsum_cons, zsum_nil. cbn [fst snd]. rewrite against_map.
    rewrite (zsum_ext _ _ (fun u => (if Z.eqb u y then scale * zpre net X t u else 0) + (if Z.eqb u other then - scale * zpre net X t u else 0))).
    - rewrite zsum_plus, (zsum_only _ y (fun u => scale * zpre net X t u) (ids_nodup top) Iy), (zsum_only _ other (fun u => - scale * zpre net X t u) (ids_nodup top) Io). lia.
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
    destruct prepared_parts as (_ & _ & _ & _ & _ & _ & _ & _ & ER). unfold are_apart. rewrite ER, forallb_forall. intros H f g Hf Hg E R.
    specialize (H f Hf). rewrite forallb_forall in H. specialize (H g Hg). rewrite E, Z.eqb_refl, R in H. apply same_spec. exact H.
  Qed.

  Lemma logits_spec P t F : logits p P t F = map (fun j => (j, zpre net (flipped (attributes P) F) t j)) (ids top).
  Proof.
    destruct prepared_parts as (first & E & _ & EN & EC & _). unfold logits. rewrite EN, EC, forward_spec by (intros ->; exact E).
    induction (ids top) as [|j r IH]; [reflexivity|]. cbn [map combine]. rewrite IH. reflexivity.
  Qed.

  Lemma logit_of_spec P t F y z : logit_of (logits p P t F) y = Some z -> 0 <= y < top /\ z = zpre net (flipped (attributes P) F) t y.
  Proof.
    rewrite logits_spec. unfold logit_of. destruct (List.find _ _) as [e|] eqn:Fd; [|discriminate]. intros [= <-]. apply find_some in Fd as [I E].
    apply Z.eqb_eq in E. apply in_map_iff in I as (j & <- & I). cbn [fst snd] in *. subst j. apply ids_in in I. auto.
  Qed.
End Prepared.

(* The theorems, first in integers: `z` are those of the network of the statement. *)
Section Judged.
  Variables (z : network Z) (P : problem) (classes : Z) (excluding : Z -> Z -> bool) (p : prepared).
  Hypothesis PREPARED : prepare z classes (count P) excluding = Some p.
  Let X := attributes P.

  (* A list of lines of bounds, each justified by those before it. *)
  Fixpoint all_lines (whole : bounds) (ls : list bounds_line) : option bounds :=
    match ls with
    | [] => Some whole
    | l :: rest => match add_line p P whole l with Some whole' => all_lines whole' rest | None => None end
    end.

  Lemma all_lines_sound ls : forall whole whole', whole_sound z P whole -> all_lines whole ls = Some whole' -> whole_sound z P whole'.
  Proof.
    induction ls as [|l ls IH]; intros whole whole' W H; cbn [all_lines] in H; [inversion H; subst; exact W|].
    destruct (add_line p P whole l) as [w|] eqn:E; [|discriminate]. apply (IH w); auto.
    exact (add_line_sound z classes (count P) excluding p PREPARED P whole l w eq_refl W E).
  Qed.

  Definition zpredicted (t y : Z) : Prop :=
    0 <= y < classes /\ forall other, 0 <= other < classes -> other <> y -> zpre z X t other < zpre z X t y \/ (zpre z X t other = zpre z X t y /\ y < other).

  Theorem judge_sound (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
    all_lines no_bounds lines = Some whole ->
    let found (R : Z -> Z -> Prop) := exists F other, admissible P F /\ apart excluding F /\ 0 <= other < classes /\ other <> y /\
      R (zpre z (flipped X F) t y) (zpre z (flipped X F) t other) in
    match judge p P whole by_prediction t y c with
    | Some IsRobust => forall F, admissible P F -> apart excluding F -> forall other, 0 <= other < classes -> other <> y ->
        zpre z (flipped X F) t other < zpre z (flipped X F) t y
    | Some IsBroken => found Z.lt /\ (by_prediction = true -> zpredicted t y)
    | Some IsTied => found eq /\ (by_prediction = true -> zpredicted t y)
    | None => True
    end.
  Proof.
    intros HL found. pose proof (all_lines_sound lines no_bounds whole (no_bounds_sound z P) HL) as WS.
    destruct (prepared_parts z classes (count P) excluding p PREPARED) as (_ & _ & _ & EN & EC & EA & _).
    unfold judge. rewrite EA, Z.eqb_refl. destruct c as [s trees|other F].
    - destruct (robust_holds p P whole t y s trees) eqn:H; [|exact I].
      unfold robust_holds in H. rewrite EC in H. apply andb_prop in H as [H HT]. apply andb_prop in H as [H Hy2]. apply andb_prop in H as [Hs Hy1].
      apply Z.ltb_lt in Hs, Hy2. apply Z.leb_le in Hy1. rewrite forallb_forall in HT.
      intros F A AP other Ho D.
      specialize (HT other (proj2 (ids_in classes other) Ho)). destruct (Z.eqb_spec other y) as [E|_]; [contradiction|]. cbn [orb] in HT.
      destruct (List.find _ trees) as [e|]; [|discriminate].
      pose proof (tree_sound z classes (count P) excluding p PREPARED (snd e) P no_signs F whole _ eq_refl A AP (no_signs_obeyed z _) (WS F A) HT) as T.
      rewrite (margin_value z classes (count P) excluding p PREPARED) in T; [unfold X; nia|apply ids_in; lia|apply ids_in; lia|assumption].
    - destruct (is_admissible P F && are_apart p F && negb (Z.eqb other y) && (negb by_prediction || is_predicted p P t y)) eqn:H; [|exact I].
      apply andb_prop in H as [H HP]. apply andb_prop in H as [H HD]. apply andb_prop in H as [HA HR]. apply is_admissible_spec in HA.
      apply (are_apart_spec z classes (count P) excluding p PREPARED) in HR. apply negb_true_iff in HD. apply Z.eqb_neq in HD.
      assert (by_prediction = true -> zpredicted t y) as PR.
      { intros ->. cbn [negb orb] in HP. unfold is_predicted in HP. destruct (logit_of (logits p P t []) y) as [own|] eqn:EO; [|discriminate].
        apply (logit_of_spec z classes (count P) excluding p PREPARED) in EO as [Hy ->]. split; [exact Hy|]. intros o Ho Do.
        rewrite forallb_forall in HP. rewrite (logits_spec z classes (count P) excluding p PREPARED) in HP.
        specialize (HP (o, zpre z (flipped (attributes P) []) t o)). cbn [fst snd] in HP.
        assert (In (o, zpre z (flipped (attributes P) []) t o) (map (fun j => (j, zpre z (flipped (attributes P) []) t j)) (ids classes))) as Io
          by (apply (in_map (fun j => (j, zpre z (flipped (attributes P) []) t j))); apply ids_in; assumption).
        specialize (HP Io). apply orb_prop in HP as [HP|HP]; [apply orb_prop in HP as [HP|HP]|].
        - apply Z.eqb_eq in HP. contradiction.
        - left. apply Z.ltb_lt. exact HP.
        - apply andb_prop in HP as [H1 H2]. right. split; [apply Z.eqb_eq; exact H1|apply Z.ltb_lt; assumption]. }
      destruct (logit_of (logits p P t F) y) as [a|] eqn:Ea; [|exact I]. destruct (logit_of (logits p P t F) other) as [b|] eqn:Eb; [|exact I].
      apply (logit_of_spec z classes (count P) excluding p PREPARED) in Ea as [_ ->]. apply (logit_of_spec z classes (count P) excluding p PREPARED) in Eb as [Ho ->].
      destruct (Z.ltb_spec (zpre z (flipped (attributes P) F) t y) (zpre z (flipped (attributes P) F) t other)) as [L|L].
      + split; [|exact PR]. exists F, other. auto.
      + destruct (Z.eqb_spec (zpre z (flipped (attributes P) F) t y) (zpre z (flipped (attributes P) F) t other)) as [E|]; [|exact I].
        split; [|exact PR]. exists F, other. auto.
  Qed.
End Judged.

(* What is said of integers is true of the rational network `net`. *)
Section Theorems.
  Variables (scale : Q) (net : network Q) (z : network Z).
  Hypothesis SCALED : scaled scale net z.

  Lemma zpredicted_predicted P classes t y : zpredicted z P classes t y -> predicted net (numbers (attributes P)) classes t y.
  Proof.
    intros [Hy H]. split; [exact Hy|]. intros other Ho D. destruct (H other Ho D) as [L|[E L]]; [left|right; split; [|exact L]].
    - apply (scaled_lt scale net z _ t other y SCALED). exact L.
    - apply (scaled_eq scale net z _ t other y SCALED). exact E.
  Qed.

  Theorem check_sound (P : problem) (classes : Z) (p : prepared)
      (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
    prepare z classes (count P) no_rivals = Some p ->
    all_lines P p no_bounds lines = Some whole ->
    match judge p P whole by_prediction t y c with
    | Some IsRobust => robust net (by_flips P) classes t y
    | Some IsBroken => broken net (by_flips P) classes t y /\ (by_prediction = true -> predicted net (numbers (attributes P)) classes t y)
    | Some IsTied => tied net (by_flips P) classes t y /\ (by_prediction = true -> predicted net (numbers (attributes P)) classes t y)
    | None => True
    end.
  Proof.
    intros HP HL. pose proof (judge_sound z P classes no_rivals p HP lines whole by_prediction t y c HL) as J. cbn zeta in J.
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

(* What is said of attributes moved within ranges is true. *)
From Coq Require Import ZArith QArith List Bool Lia Psatz.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Units Leaf Trees Sound Floats Edges EdgesSound Ranges.
Import ListNotations.
Open Scope Z_scope.

Definition within (D : Z) (b : Z * Z) (x : Z) : Prop := D * fst b <= x <= D * snd b.

Lemma least_on_sound D b u x : within D b x -> D * least_on b u <= u * x.
Proof. unfold within, least_on. destruct (Z.leb_spec 0 u); nia. Qed.

Lemma pull_dilate D l width o : pull (dilate_layer D l) width o = (D * fst (pull l width o), snd (pull l width o)).
Proof.
  unfold pull. cbn [fst snd dilate_layer bias terms inputs]. f_equal. rewrite <- zsum_scale. apply zsum_ext. intros e. apply against_scale.
Qed.

Lemma pull_some_spec l width o : pull_some l width o = pull l width o.
Proof.
  unfold pull_some, pull.
  assert (forall (e : Z * list Z) (t : term Z), map (fun i => zsum (filter (fun p => negb (Z.eqb (snd p) 0)) (combine (ids width) (snd e))) (fun p => snd p * weight t i (fst p))) (ids (inputs l)) =
    map (fun i => against (ids width) (snd e) (weight t i)) (ids (inputs l))) as E.
  { intros e t. apply map_ext. intros i. unfold against. rewrite zsum_filter. apply zsum_ext. intros p. destruct (Z.eqb_spec (snd p) 0) as [->|]; cbn [negb]; lia. }
  match goal with |- (_, map _ (group ?a)) = (_, map _ (group ?b)) => assert (a = b) as ->; [|reflexivity] end.
  apply flat_map_ext. intros e. apply flat_map_ext. intros t. rewrite E. reflexivity.
Qed.

Lemma intercept_dilate D k s R S : 0 < D -> intercept k s (D * R) (D * S) = D * intercept k s R S.
Proof.
  intros HD. assert (forall x, k * pos (D * x) - s * (D * x) = D * (k * pos x - s * x)) as E.
  { intros x. replace (pos (D * x)) with (D * pos x) by (unfold pos; destruct (Z_le_gt_dec 0 x); [rewrite !Z.max_l by nia|rewrite !Z.max_r by nia]; lia). ring. }
  assert (Z.ltb (D * R) 0 = Z.ltb R 0) as E1 by (destruct (Z.ltb_spec (D * R) 0), (Z.ltb_spec R 0); auto; nia).
  assert (Z.ltb 0 (D * S) = Z.ltb 0 S) as E2 by (destruct (Z.ltb_spec 0 (D * S)), (Z.ltb_spec 0 S); auto; nia).
  unfold intercept. rewrite !E, E1, E2, Z.mul_min_distr_nonneg_l by lia. destruct (_ && _); [|reflexivity].
  rewrite <- (Z.mul_0_r D) at 1. rewrite Z.mul_min_distr_nonneg_l by lia. reflexivity.
Qed.

Lemma sided_sound D side b z : 0 < D -> within D b z -> counts side z = true -> within D (sided side b) z.
Proof. unfold within. intros HD. destruct side as [[|]|]; cbn [sided counts fst snd]; intros W H; try apply Z.leb_le in H; nia. Qed.

Lemma lean_sound D l side s units k b c s' (z : Z -> Z) : 0 < D -> lean l side s units k b = Got (c, s') ->
  (forall i bd, In (i, bd) (combine units b) -> within D bd (z i)) -> (forall i, counts (side i) (z i) = true) ->
  D * c + against units s' z <= against units k (fun i => if relu l i then pos (z i) else z i).
Proof.
  intros HD H B O. revert k b c s' H B. induction units as [|i units IH]; intros k b c s' H B; cbn [lean] in H.
  { inversion H. subst. unfold against. cbn. lia. }
  destruct k as [|k0 k]. { inversion H. subst. unfold against. cbn. lia. }
  destruct b as [|b0 b]; [discriminate|]. apply bind_got in H as ([c1 s1] & H1 & H2). cbn [fst snd] in H2.
  assert (D * c1 + against units s1 z <= against units k (fun i => if relu l i then pos (z i) else z i)) as K.
  { apply (IH k b); auto. intros x bd I. apply B. right. assumption. }
  specialize (B i b0 (or_introl eq_refl)). apply (sided_sound D (side i) b0 (z i) HD) in B; [|apply O]. unfold within in B.
  destruct (relu l i) eqn:E; inversion H2; subst; unfold against in *; cbn [combine]; rewrite !zsum_cons; cbn [fst snd]; rewrite E.
  - pose proof (intercept_sound k0 (s i k0 b0) _ _ (z i) B) as T. rewrite (intercept_dilate D) in T by exact HD. lia.
  - lia.
Qed.

(* Sums over the elements of one list that are in another. *)
Lemma zsum_same C g c : NoDup C -> zsum C (fun f => if same f g then c else 0) = if existsb (same g) C then c else 0.
Proof.
  intros ND. destruct (existsb (same g) C) eqn:E.
  - apply existsb_exists in E as (f & I & E). apply same_spec in E. subst f. rewrite (zsum_ext C _ (fun f => c * (if same g f then 1 else 0))).
    + rewrite zsum_scale, one_of by assumption. lia.
    + intros f. assert (same f g = same g f) as -> by (unfold same; rewrite (Z.eqb_sym (fst f)), (Z.eqb_sym (snd f)); reflexivity). destruct (same g f); lia.
  - apply zsum_zero. intros f I. destruct (same f g) eqn:S; [|reflexivity]. apply same_spec in S. subst f.
    assert (existsb (same g) C = true); [|congruence]. apply existsb_exists. exists g. split; [exact I|apply same_spec; reflexivity].
Qed.

Lemma zsum_by_key (l k : list Z) (L : Z * Z -> Z) (G : Z -> Z -> Z) : NoDup l -> (forall d, G d 0 = 0) ->
  zsum l (fun d => G d (zsum (combine l k) (fun q => if Z.eqb d (fst q) then L q else 0))) = zsum (combine l k) (fun q => G (fst q) (L q)).
Proof.
  intros ND Z0. revert k. induction ND as [|a l NI ND IH]; intros k; [reflexivity|]. destruct k as [|k0 k]; cbn [combine].
  - apply zsum_zero. intros d _. apply Z0.
  - rewrite !zsum_cons. cbn [fst]. rewrite Z.eqb_refl, zsum_zero.
    + rewrite Z.add_0_r. f_equal. rewrite <- IH. apply zsum_ext_in. intros d Hd. rewrite zsum_cons. cbn [fst].
      destruct (Z.eqb_spec d a); [subst; contradiction|reflexivity].
    + intros [d u] I. cbn [fst]. destruct (Z.eqb_spec a d); [subst; apply in_combine_l in I; contradiction|reflexivity].
Qed.

(* Rows V, times D, that an attacker makes: entries that are chosen lie where they may be moved, all others where they rest. *)
Definition made_by (D : Z) (P : problem) (moves rest : spans) (C : list flip) (V : zrows) : Prop :=
  admissible P C /\ (forall n d, In (n, d) C -> within D (moves n d) (V n d)) /\ (forall n d, ~ In (n, d) C -> within D (rest n d) (V n d)).

Section Entries.
  Variables (D : Z) (P : problem) (moves rest : spans) (C : list flip) (V : zrows).
  Hypothesis HD : 0 < D.
  Hypothesis M : made_by D P moves rest C V.

  Lemma entries_bound_sound k b : entries_bound P moves rest k = Got b -> D * b <= zsum k (fun e => against (ids (count P)) (snd e) (V (fst e))).
  Proof.
    unfold entries_bound. set (p := best_of P (map (row_losses P moves rest) k)). clearbody p. destruct (ascending k && not_negative p) eqn:E; [|discriminate].
    apply andb_prop in E as [ASC NN]. apply ascending_nodup in ASC. intros [= <-]. destruct M as (A & MV & RS).
    set (L := fun n (q : Z * Z) => pos (least_on (rest n (fst q)) (snd q) - least_on (moves n (fst q)) (snd q))).
    set (x := fun f : flip => zsum k (fun e => zsum (combine (ids (count P)) (snd e)) (fun q => if same f (fst e, fst q) then L (fst e) q else 0))).
    assert (zsum C x = zsum k (fun e => zsum (combine (ids (count P)) (snd e)) (fun q => if existsb (same (fst e, fst q)) C then L (fst e) q else 0))) as SX.
    { unfold x. rewrite zsum_swap. apply zsum_ext. intros e. rewrite zsum_swap. apply zsum_ext. intros q. apply zsum_same. apply A. }
    assert (D * zsum k (fun e => zsum (combine (ids (count P)) (snd e)) (fun q => least_on (rest (fst e) (fst q)) (snd q))) - D * zsum C x
      <= zsum k (fun e => against (ids (count P)) (snd e) (V (fst e)))) as LOW.
    { rewrite SX, <- !zsum_scale. apply Z.le_sub_le_add_r. rewrite <- zsum_plus. apply zsum_le_in. intros e _. unfold against.
      rewrite <- !zsum_scale, <- zsum_plus. apply zsum_le_in. intros [d u] _. cbn [fst snd]. destruct (existsb (same (fst e, d)) C) eqn:X.
      - apply existsb_exists in X as (f & I & X). apply same_spec in X. subst f. pose proof (least_on_sound D _ u _ (MV _ _ I)). unfold L, pos. cbn [fst snd]. nia.
      - assert (~ In (fst e, d) C) as NI.
        { intros I. assert (existsb (same (fst e, d)) C = true); [|congruence]. apply existsb_exists. exists (fst e, d). split; [exact I|apply same_spec; reflexivity]. }
        pose proof (least_on_sound D _ u _ (RS _ _ NI)). lia. }
    assert (zsum C x <= paid P p + zsum (map (row_losses P moves rest) k) (fun r => zsum (snd r) (fun g => pos (g - price_of p (fst r))))) as UP.
    { etransitivity; [apply (selection P C p x (map fst k) A NN)|].
      - intros n d _ NI. unfold x. rewrite zsum_zero; [apply price_of_nonneg; exact NN|]. intros e I. apply zsum_zero. intros q _.
        destruct (same (n, d) (fst e, fst q)) eqn:S; [|reflexivity]. apply same_spec in S. inversion S. subst. destruct NI. apply in_map. exact I.
      - rewrite !zsum_map. apply Z.add_le_mono_l, zsum_le_in. intros [n u] I. unfold row_losses. cbn [fst snd]. rewrite zsum_map. unfold excess.
        pose proof (price_of_nonneg p n NN) as NP.
        pose proof (zsum_by_key (ids (count P)) u (L n) (fun d g => if free P n d then pos (g - price_of p n) else 0) (ids_nodup _)) as Z0. cbn beta in Z0.
        rewrite (zsum_ext (ids (count P)) _ (fun d => if free P n d then pos (zsum (combine (ids (count P)) u) (fun q => if Z.eqb d (fst q) then L n q else 0) - price_of p n) else 0)).
        + rewrite Z0; [|intros d; unfold pos; destruct (free P n d); lia]. apply zsum_le_in. intros q _. fold (L n q). destruct (free P n (fst q)); unfold pos; lia.
        + intros d. assert (x (n, d) = zsum (combine (ids (count P)) u) (fun q => if Z.eqb d (fst q) then L n q else 0)) as ->; [|reflexivity].
          pose proof (zsum_key k n u (fun e => zsum (combine (ids (count P)) (snd e)) (fun q => if Z.eqb d (fst q) then L (fst e) q else 0)) ASC I) as ZK. cbn [fst snd] in ZK.
          unfold x. rewrite <- ZK.
          apply zsum_ext. intros e. unfold same. cbn [fst snd]. rewrite (Z.eqb_sym n). destruct (Z.eqb (fst e) n); [reflexivity|]. apply zsum_zero. reflexivity. }
    nia.
  Qed.

  (* Bounds of units that are known hold. *)
  Fixpoint knows_units (net : network Z) (known : list (table (list (Z * Z)))) (width : Z) : Prop :=
    match net, known with
    | l :: below, t :: known' =>
        (forall n i b, In (i, b) (combine (ids width) (get t n)) -> within D b (zvalue (dilate D net) V n i)) /\ knows_units below known' (inputs l)
    | _, _ => True
    end.

  Lemma number_dilate net : layer_number (dilate D net) = layer_number net.
  Proof. unfold layer_number, dilate. rewrite map_length. reflexivity. Qed.

  Lemma lower_sound sign h net : forall known width o b, zobeys sign (dilate D net) V ->
    match net with l :: below => knows_units below known (inputs l) | [] => True end ->
    lower P moves rest sign h net known width o = Got b -> D * b <= zobjective (dilate D net) V width o.
  Proof.
    induction net as [|l below IH]; intros known width o b O K H; [discriminate|]. cbn [lower] in H. rewrite pull_some_spec in H.
    cbn [dilate map]. fold (dilate D below). rewrite pull_sound, pull_dilate. destruct (pull l width o) as [constant k]. cbn [fst snd].
    destruct below as [|l' below'].
    - destruct (Z.eqb_spec (inputs l) (count P)) as [EC|]; [|discriminate]. apply bind_got in H as (e & H & [= <-]). apply entries_bound_sound in H.
      cbn [dilate map zpassed zvalue dilate_layer inputs]. rewrite EC. rewrite (zsum_ext k _ (fun e => against (ids (count P)) (snd e) (V (fst e)))) by reflexivity. lia.
    - destruct known as [|t known']; [discriminate|]. destruct K as [K1 K2]. apply bind_got in H as (leant & H1 & H). apply bind_got in H as (e & H2 & [= <-]).
      cbn [dilate map zobeys] in O. destruct O as [_ O]. change (dilate_layer D l' :: map (dilate_layer D) below') with (dilate D (l' :: below')) in *.
      pose proof O as [O1 _]. rewrite number_dilate in O1.
      apply (IH known' (inputs l) (map snd leant)) in H2; auto.
      apply each_one_got in H1. cbn [dilate_layer inputs].
      assert (D * zsum leant fst + zobjective (dilate D (l' :: below')) V (inputs l) (map snd leant) <=
        zsum k (fun e => against (ids (inputs l)) (snd e) (fun i => zpassed (dilate D (l' :: below')) i (zvalue (dilate D (l' :: below')) V (fst e) i)))) as T; [|lia].
      unfold zobjective. rewrite zsum_map, <- zsum_scale, <- zsum_plus.
      assert (forall (ks : objective) ls, Forall2 (fun e r => bind (lean l' (sign (layer_number (l' :: below')) (fst e)) (line_of sign h (layer_number (l' :: below')) (fst e))
          (ids (inputs l)) (snd e) (get t (fst e))) (fun r => Got (fst r, (fst e, snd r))) = Got r) ks ls ->
        zsum ls (fun r => D * fst r + against (ids (inputs l)) (snd (snd r)) (zvalue (dilate D (l' :: below')) V (fst (snd r)))) <=
        zsum ks (fun e => against (ids (inputs l)) (snd e) (fun i => zpassed (dilate D (l' :: below')) i (zvalue (dilate D (l' :: below')) V (fst e) i)))) as T; [|apply T; exact H1].
      intros ks ls F2. induction F2 as [|e0 r ks ls F F2 IHF]; [reflexivity|]. rewrite !zsum_cons. apply Z.add_le_mono; [|exact IHF].
      apply bind_got in F as ([c s'] & F & [= <-]). cbn [fst snd].
      apply (lean_sound D _ _ _ _ _ _ _ _ (zvalue (dilate D (l' :: below')) V (fst e0)) HD) in F; [exact F|intros i bd I; apply K1; exact I|intros i; apply O1].
  Qed.
End Entries.

Lemma units_known_sound D P moves rest C V net : 0 < D -> made_by D P moves rest C V -> forall width, knows_units D V net (units_known P moves rest net width) width.
Proof.
  intros HD M. induction net as [|l below IH]; intros width; [exact I|]. cbn [units_known knows_units]. split; [|apply IH]. intros n i b I.
  rewrite get_tabulate in I. destruct (each_one _ _) as [bs| |] eqn:E; [|destruct (ids width); destruct I|destruct (ids width); destruct I].
  apply each_one_got in E.
  assert (In i (ids width)) as Ii by (apply in_combine_l in I; exact I).
  assert (bind (lower P moves rest no_signs no_lines (l :: below) (units_known P moves rest below (inputs l)) width (one_unit width n i fine))
     (fun a => bind (lower P moves rest no_signs no_lines (l :: below) (units_known P moves rest below (inputs l)) width (one_unit width n i (- fine)))
       (fun b => Got (a / fine, - (b / fine)))) = Got b) as F.
  { clear - E I. revert E I. generalize (ids width). intros us E. induction E as [|u b0 us bs F E IHE]; [intros []|]. intros [EQ|I]; [inversion EQ; subst; exact F|auto]. }
  apply bind_got in F as (a & F1 & F). apply bind_got in F as (c & F2 & [= <-]).
  assert (forall x c, lower P moves rest no_signs no_lines (l :: below) (units_known P moves rest below (inputs l)) width (one_unit width n i c) = Got x ->
    D * x <= c * zvalue (dilate D (l :: below)) V n i) as S.
  { intros x c0 H. apply (lower_sound D P moves rest C V HD M) in H; [|apply no_signs_obeyed|apply IH]. rewrite one_unit_value in H by exact Ii. exact H. }
  apply S in F1, F2. unfold within. cbn [fst snd]. pose proof (Z_div_mod_eq_full a fine). pose proof (Z_div_mod_eq_full c fine).
  pose proof (Z.mod_pos_bound a fine eq_refl). pose proof (Z.mod_pos_bound c fine eq_refl). assert (0 < fine) by reflexivity. set (f := fine) in *. clearbody f.
  set (z := zvalue _ _ _ _) in *. split.
  - assert (f * (D * (a / f)) <= f * z) by nia. nia.
  - assert (f * (D * (c / f)) <= - (f * z)) by nia. nia.
Qed.

(* What is read where. *)
Lemma leads_spec (f : Z -> Z) classes y : leads (map (fun j => (j, f j)) (ids classes)) y = true ->
  0 <= y < classes /\ forall other, 0 <= other < classes -> other <> y -> f other < f y \/ (f other = f y /\ y < other).
Proof.
  unfold leads, logit_of. destruct (List.find _ _) as [e|] eqn:F; [|discriminate]. apply find_some in F as [I E]. apply Z.eqb_eq in E.
  apply in_map_iff in I as (j & <- & I). cbn [fst snd] in *. subst j. apply ids_in in I. rewrite forallb_forall. intros H. split; [exact I|]. intros other Ho Do.
  specialize (H (other, f other) (in_map (fun j => (j, f j)) _ _ (proj2 (ids_in classes other) Ho))). cbn [fst snd] in H.
  apply orb_prop in H as [H|H]; [apply orb_prop in H as [H|H]|].
  - apply Z.eqb_eq in H. contradiction.
  - left. apply Z.ltb_lt. exact H.
  - apply andb_prop in H as [H1 H2]. right. split; [apply Z.eqb_eq; exact H1|apply Z.ltb_lt; exact H2].
Qed.

Lemma bottom_dilate D net : forall top first w, bottom net top = Some (first, w) -> bottom (dilate D net) top = Some (dilate_layer D first, w).
Proof.
  induction net as [|l below IH]; intros top first w H; [discriminate|]. cbn [bottom dilate map] in *. destruct below; [inversion H; reflexivity|].
  apply (IH (inputs l)). exact H.
Qed.

Lemma sent_rows_read first V : reads first (sent_rows V) V.
Proof. intros n w. unfold sent_rows. rewrite zsum_filter, zsum_map. apply zsum_ext. intros d. cbn [fst snd]. destruct (Z.eqb_spec (V n d) 0) as [->|]; cbn [negb]; lia. Qed.

Section Judged.
  Variables (z : network Z) (classes : Z) (P0 : problem) (V0 : zrows) (moves : spans) (p : ranges_prepared).
  Hypothesis PREPARED : prepare_ranges z classes P0 V0 moves = Some p.

  Lemma prepared_spec : exists l below first, z = l :: below /\ bottom z classes = Some first /\
    p = {| ranged_net := z; ranged_classes := classes; ranged_first := first; ranged := P0; unmoved_rows := V0; movable := moves;
           known_units := units_known P0 moves (unmoved V0) below (inputs l); unmoved_logits := logits_at 1 z first classes V0 |}.
  Proof.
    unfold prepare_ranges in PREPARED. destruct z as [|l below]; [discriminate|]. destruct (bottom (l :: below) classes) as [first|] eqn:B; [|discriminate].
    inversion PREPARED. exists l, below, first. auto.
  Qed.

  Lemma logits_at_spec D first V t : bottom z classes = Some first ->
    combine (ids classes) (get (logits_at D z first classes V) t) = map (fun j => (j, zvalue (dilate D z) V t j)) (ids classes).
  Proof.
    destruct first as [first w]. intros B. unfold logits_at. cbn [fst snd].
    rewrite (zforward_spec (dilate D z) _ V (dilate_layer D first) w classes t); [|apply bottom_dilate; exact B|apply sent_from_spec, sent_rows_read].
    induction (ids classes) as [|j r IH]; [reflexivity|]. cbn [map combine]. rewrite IH. reflexivity.
  Qed.

  (* Rows that an attacker makes of those of the graph, all times D. *)
  Definition attacked (D : Z) (V : zrows) : Prop := 0 < D /\ exists C, made_by D P0 moves (unmoved V0) C V.

  Lemma tree_sound least D V t : 0 < D -> match z with l :: below => knows_units D V below (known_units p) (inputs l) | [] => True end ->
    forall P rest s C o, made_by D P moves rest C V -> zobeys s (dilate D z) V -> range_tree_above p least P rest s o t = true ->
      D * least < zobjective (dilate D z) V classes o.
  Proof.
    intros HD K. assert (ranged_net p = z /\ ranged_classes p = classes /\ movable p = moves) as (EN & EC & EM)
      by (destruct prepared_spec as (l & below & first & _ & _ & ->); auto).
    induction t as [h|number n i t1 IH1 t2 IH2|f t1 IH1 t2 IH2|f v t1 IH1 t2 IH2]; intros P rest s C o M O H; cbn [range_tree_above] in H.
    - rewrite EN, EC, EM in H. destruct (lower _ _ _ _ _ _ _ _ _) as [b| |] eqn:E; try discriminate. apply Z.ltb_lt in H.
      apply (lower_sound D P moves rest C V HD M) in E; auto. nia.
    - apply andb_prop in H as [H1 H2]. destruct (know_obeys s _ _ number n i O) as ([|] & O'); eauto.
    - apply andb_prop in H as [H H2]. apply andb_prop in H as [_ H1]. destruct M as (A & MV & RS). destruct (in_dec flip_dec f C) as [I|NI].
      + apply orb_prop in H2 as [H2|H2].
        * exfalso. destruct A as (ND & _ & Q & q). specialize (q f I).
          assert (0 < Spec.size (of_node (fst f) C)).
          { rewrite size_of_node. assert (1 <= zsum C (fun g => if Z.eqb (fst g) (fst f) then 1 else 0)); [|lia].
            etransitivity; [|apply (zsum_mem _ _ f I)]; cbn beta; [rewrite Z.eqb_refl; lia|]. intros b _. destruct (Z.eqb (fst b) (fst f)); lia. }
          pose proof (size_of_node_le (fst f) C). apply orb_prop in H2 as [H2|H2]; apply Z.leb_le in H2; lia.
        * apply (IH2 (make P f) (narrow rest f (movable p (fst f) (snd f))) s (without f C) o); auto. rewrite EM. split; [apply make_admissible; assumption|].
          split.
          -- intros n d In'. apply MV. unfold without in In'. apply filter_In in In'. apply In'.
          -- intros n d NI'. unfold narrow. destruct (same (n, d) f) eqn:S; [apply same_spec in S; subst f; apply MV; exact I|].
             apply RS. intros I'. apply NI'. unfold without. apply filter_In. split; [exact I'|]. apply negb_true_iff. destruct (same f (n, d)) eqn:S'; [|reflexivity].
             apply same_spec in S'. subst f. assert (same (n, d) (n, d) = true) by (apply same_spec; reflexivity). congruence.
      + apply (IH1 (forbid P f) rest s C o); auto. split; [apply forbid_admissible; assumption|auto].
    - apply andb_prop in H as [H H2]. apply andb_prop in H as [NP H1]. apply negb_true_iff in NP. destruct M as (A & MV & RS). destruct f as [fn fd]. cbn [fst snd] in *.
      assert (~ In (fn, fd) C) as NI by (intros I; destruct A as (_ & PF & _); destruct (PF _ I) as [PT _]; cbn [fst snd] in PT; congruence).
      pose proof (RS _ _ NI) as W. unfold within in W.
      assert (forall to, within D to (V fn fd) -> made_by D P moves (narrow rest (fn, fd) to) C V) as N.
      { intros to T. split; [exact A|]. split; [exact MV|]. intros n d NI'. unfold narrow. destruct (same (n, d) (fn, fd)) eqn:S; [|apply RS; exact NI'].
        apply same_spec in S. inversion S. subst. exact T. }
      destruct (Z_le_gt_dec (V fn fd) (D * v)); [apply (IH1 P (narrow rest (fn, fd) (fst (rest fn fd), v)) s C o)|apply (IH2 P (narrow rest (fn, fd) (v, snd (rest fn fd))) s C o)]; auto;
        apply N; unfold within; cbn [fst snd]; lia.
  Qed.

  Lemma margin_of_value net V t y other scale : In y (ids classes) -> In other (ids classes) -> other <> y ->
    zobjective net V classes (margin_of p t y other scale) = scale * (zvalue net V t y - zvalue net V t other).
  Proof.
    intros Iy Io Do. assert (ranged_classes p = classes) as EC by (destruct prepared_spec as (l & below & first & _ & _ & ->); auto).
    unfold zobjective, margin_of. rewrite EC, zsum_cons, zsum_nil. cbn [fst snd]. rewrite against_map.
    rewrite (zsum_ext _ _ (fun u => (if Z.eqb u y then scale * zvalue net V t u else 0) + (if Z.eqb u other then - scale * zvalue net V t u else 0))).
    - rewrite zsum_plus, (zsum_only _ y (fun u => scale * zvalue net V t u) (ids_nodup _) Iy), (zsum_only _ other (fun u => - scale * zvalue net V t u) (ids_nodup _) Io). lia.
    - intros u. destruct (Z.eqb_spec u y) as [E1|]; destruct (Z.eqb_spec u other) as [E2|]; try lia.
  Qed.

  Lemma margins_sound least t y scale trees D V other : margins_exceed p least t y scale trees = true -> attacked D V -> 0 <= other < classes -> other <> y ->
    0 <= y < classes /\ exists x, least other = Some x /\ D * x < zvalue (dilate D z) V t y - zvalue (dilate D z) V t other.
  Proof.
    unfold margins_exceed. destruct prepared_spec as (l & below & first & EZ & EB & EP). intros H (HD & C & M) Ho Do.
    apply andb_prop in H as [H HT]. apply andb_prop in H as [H Hy2]. apply andb_prop in H as [Hs Hy1]. apply Z.ltb_lt in Hs, Hy2. apply Z.leb_le in Hy1.
    rewrite EP in Hy2, HT. cbn [ranged_classes] in Hy2, HT. rewrite <- EP in HT. rewrite forallb_forall in HT. split; [lia|].
    specialize (HT other (proj2 (ids_in classes other) Ho)). destruct (Z.eqb_spec other y) as [|_]; [contradiction|]. cbn [orb] in HT.
    destruct (List.find _ trees) as [e|]; [|discriminate]. destruct (least other) as [x|]; [|discriminate]. exists x. split; [reflexivity|].
    assert (ranged p = P0 /\ unmoved_rows p = V0) as (E1 & E2) by (rewrite EP; auto). rewrite E1, E2 in HT.
    apply (tree_sound _ D V (snd e) HD) with (C := C) in HT; [|rewrite EZ, EP; cbn [known_units]; apply (units_known_sound D P0 moves (unmoved V0) C V);
      assumption|exact M|apply no_signs_obeyed].
    rewrite margin_of_value in HT; [nia|apply ids_in; lia|apply ids_in; lia|assumption].
  Qed.

  Definition leading (t y : Z) : Prop := 0 <= y < classes /\ forall other, 0 <= other < classes -> other <> y ->
    zvalue (dilate 1 z) V0 t other < zvalue (dilate 1 z) V0 t y \/ (zvalue (dilate 1 z) V0 t other = zvalue (dilate 1 z) V0 t y /\ y < other).

  Lemma moved_sound by_prediction t y other D entries x : moved_by p by_prediction t y other D entries = Some x ->
    exists V, attacked D V /\ 0 <= y < classes /\ 0 <= other < classes /\ other <> y /\ x = zvalue (dilate D z) V t other - zvalue (dilate D z) V t y /\
    (by_prediction = true -> leading t y).
  Proof.
    intros H. unfold moved_by in H. destruct prepared_spec as (l & below & first & EZ & EB & EP).
    match type of H with (if ?c then _ else _) = _ => destruct c eqn:HC; [|discriminate] end.
    rewrite EP in H, HC. unfold range_logits in *. cbn [ranged movable ranged_classes unmoved_logits ranged_net ranged_first] in *. rewrite <- EP in *.
    rewrite !(logits_at_spec _ first) in * by exact EB.
    apply andb_prop in HC as [HC HP]. apply andb_prop in HC as [HC HN]. apply andb_prop in HC as [HC HR]. apply andb_prop in HC as [HD HA].
    apply Z.ltb_lt in HD. apply negb_true_iff in HN. apply Z.eqb_neq in HN. apply is_admissible_spec in HA. rewrite forallb_forall in HR.
    assert (by_prediction = true -> leading t y) as PR by (intros ->; apply leads_spec; exact HP).
    set (V := rows_after p D entries) in *.
    assert (attacked D V) as AT.
    { split; [exact HD|]. exists (map fst entries). split; [exact HA|].
      assert (forall n d, match List.find (fun e => same (n, d) (fst e)) entries with Some e => In e entries /\
        fst e = (n, d) | None => ~ In (n, d) (map fst entries) end) as FD.
      { intros n d. destruct (List.find _ entries) as [e|] eqn:F.
        - apply find_some in F as [I S]. apply same_spec in S. auto.
        - intros I. apply in_map_iff in I as (e & E & I). pose proof (find_none _ _ F e I) as N. cbn beta in N. rewrite E in N.
          assert (same (n, d) (n, d) = true) by (apply same_spec; reflexivity). congruence. }
      split; intros n d I; specialize (FD n d); unfold V, rows_after; destruct (List.find _ entries) as [e|].
      - destruct FD as [I' E]. specialize (HR e I'). destruct e as [[n' d'] v]. cbn [fst snd] in *. inversion E. subst n' d'. apply andb_prop in HR as [H1 H2].
        apply Z.leb_le in H1, H2. split; assumption.
      - contradiction.
      - destruct FD as [I' E]. destruct I. rewrite <- E. apply in_map. exact I'.
      - unfold within, unmoved. cbn [fst snd]. rewrite EP. cbn [unmoved_rows]. lia. }
    assert (forall j x, logit_of (map (fun j => (j, zvalue (dilate D z) V t j)) (ids classes)) j = Some x ->
      0 <= j < classes /\ x = zvalue (dilate D z) V t j) as LO.
    { intros j x'. unfold logit_of. destruct (List.find _ _) as [e|] eqn:F; [|discriminate]. intros [= <-]. apply find_some in F as [I E]. apply Z.eqb_eq in E.
      apply in_map_iff in I as (k & <- & I). cbn [fst snd] in *. subst k. apply ids_in in I. auto. }
    destruct (logit_of _ y) as [a|] eqn:Ea; [|discriminate]. destruct (logit_of _ other) as [b|] eqn:Eb; [|discriminate]. injection H as <-.
    apply LO in Ea as [Hy ->]. apply LO in Eb as [Ho ->]. exists V. auto 7.
  Qed.
End Judged.

(* From rational entries to integers. *)
Lemma scaled_dilate D base c qs zs : 0 < D -> scaled base c qs zs -> exists c', (c' == inject_Z D * c)%Q /\ scaled (inject_Z D * base) c' qs (dilate D zs).
Proof.
  intros HD. induction 1 as [|c a w q qs z zs S (c' & E & IH) A W T I R B]; [eexists; split; [reflexivity|constructor]|].
  exists (c' * a * w)%Q. split; [rewrite E; ring|]. cbn [dilate map]. apply scaled_layer; auto. intros m j. cbn [dilate_layer bias]. rewrite inject_Z_mult, B, E. ring.
Qed.

Definition denominators (l : list Q) : Z := fold_right (fun q D => Zpos (Qden q) * D) 1 l.
Definition integer_of (D : Z) (q : Q) : Z := Qnum q * (D / Zpos (Qden q)).
Lemma denominators_pos l : 0 < denominators l.
Proof. induction l as [|q l IH]; cbn [denominators fold_right]; [lia|]. fold (denominators l). lia. Qed.
Lemma integer_of_spec l q : In q l -> (inject_Z (integer_of (denominators l) q) == inject_Z (denominators l) * q)%Q.
Proof.
  intros I. assert (exists m, denominators l = m * Zpos (Qden q)) as (m & E).
  { induction l as [|r l IH]; [destruct I|]. destruct I as [->|I]; cbn [denominators fold_right]; fold (denominators l); [exists (denominators l); ring|].
    destruct (IH I) as (m & E). exists (Zpos (Qden r) * m). rewrite E. ring. }
  rewrite E. unfold integer_of. rewrite Z.div_mul by discriminate. destruct q as [a b]. unfold Qeq, inject_Z, Qmult. cbn [Qnum Qden]. rewrite !Pos.mul_1_l. ring.
Qed.

(* Rows of rational numbers that an attacker makes, and what he makes of integers. *)
Section Rational.
  Variables (base : Z) (P : problem) (V : zrows) (low high x : rows) (moves : spans).
  Hypothesis READ : forall n d, (inject_Z (V n d) == 2 ^ base * x n d)%Q.
  Hypothesis MOVES : forall n d, (inject_Z (fst (moves n d)) == 2 ^ base * low n d /\ inject_Z (snd (moves n d)) == 2 ^ base * high n d)%Q.
  Definition times (D : Z) (V' : zrows) (X : rows) : Prop := forall n d, (inject_Z (V' n d) == inject_Z D * 2 ^ base * X n d)%Q.

  Lemma unit_pos D : 0 < D -> (0 < inject_Z D * 2 ^ base)%Q.
  Proof. intros HD. apply Qmult_lt_0_compat; [rewrite <- (Zlt_Qlt 0); exact HD|apply two_power_pos]. Qed.

  Lemma made_out D V' : attacked P V moves D V' -> exists X : rows, by_ranges P x low high X /\ times D V' X.
  Proof.
    intros (HD & C & A & M & R). pose proof (unit_pos D HD) as BP.
    assert (~ (inject_Z D * 2 ^ base == 0))%Q as NZ by (intros E; rewrite E in BP; discriminate BP).
    assert (forall n d, inject_Z (V' n d) == inject_Z D * 2 ^ base * (inject_Z (V' n d) / (inject_Z D * 2 ^ base)))%Q as EX by (intros n d; rewrite Qmult_div_r by exact NZ; reflexivity).
    exists (fun n d => inject_Z (V' n d) / (inject_Z D * 2 ^ base))%Q. split; [|exact EX]. exists C. split; [exact A|]. split; intros n d I.
    - destruct (M n d I) as [L H]. destruct (MOVES n d) as [ML MH]. rewrite Zle_Qle, inject_Z_mult in L, H. rewrite ML, (EX n d) in L.
      rewrite MH, (EX n d) in H.
      split; apply (Qmult_le_l _ _ (inject_Z D * 2 ^ base) BP); rewrite <- ?Qmult_assoc in *; assumption.
    - destruct (R n d I) as [L H]. unfold unmoved in L, H. cbn [fst snd] in L, H. assert (V' n d = D * V n d) as -> by lia. rewrite inject_Z_mult, READ.
      apply (Qmult_inj_l _ _ (inject_Z D * 2 ^ base) NZ). rewrite Qmult_div_r by exact NZ. ring.
  Qed.

  Lemma made_into X : by_ranges P x low high X -> exists D V', attacked P V moves D V' /\ times D V' X.
  Proof.
    intros (C & A & M & R). set (l := map (fun f => 2 ^ base * X (fst f) (snd f))%Q C). set (D := denominators l).
    set (V' := fun n d => if existsb (same (n, d)) C then integer_of D (2 ^ base * X n d)%Q else D * V n d).
    assert (0 < D) as HD by apply denominators_pos.
    assert (forall n d, if existsb (same (n, d)) C then In (n, d) C else ~ In (n, d) C) as MEM.
    { intros n d. destruct (existsb (same (n, d)) C) eqn:E; [apply existsb_exists in E as (f & I & E); apply same_spec in E; subst f; exact I|].
      intros I. assert (existsb (same (n, d)) C = true); [|congruence]. apply existsb_exists. exists (n, d). split; [exact I|apply same_spec; reflexivity]. }
    assert (times D V' X) as EX.
    { intros n d. unfold V'. specialize (MEM n d). destruct (existsb (same (n, d)) C).
      - rewrite <- Qmult_assoc. apply integer_of_spec. unfold l. exact (in_map (fun f => 2 ^ base * X (fst f) (snd f))%Q C (n, d) MEM).
      - rewrite (R n d MEM), inject_Z_mult, READ. ring. }
    exists D, V'. split; [|exact EX]. split; [exact HD|]. exists C. split; [exact A|]. pose proof (unit_pos D HD) as BP. split; intros n d I.
    - destruct (M n d I) as [L H]. destruct (MOVES n d) as [ML MH]. unfold within. rewrite !Zle_Qle, !inject_Z_mult, ML, MH, (EX n d), !Qmult_assoc.
      split; apply Qmult_le_l; assumption.
    - unfold V'. specialize (MEM n d). destruct (existsb (same (n, d)) C); [contradiction|]. unfold within, unmoved. cbn [fst snd]. lia.
  Qed.
End Rational.

Lemma leading_predicted base k net z classes V (x : rows) t y : (forall n d, (inject_Z (V n d) == 2 ^ base * x n d)%Q) -> scaled (2 ^ base) k net z ->
  leading z classes V t y -> predicted net x classes t y.
Proof.
  intros READ S [Hy H]. destruct (scaled_dilate 1 (2 ^ base) k net z eq_refl S) as (k' & _ & S'). pose proof (unit_pos base 1 eq_refl) as BP.
  assert (times base 1 V x) as T by (intros n d; rewrite READ; change (inject_Z 1) with 1%Q; ring).
  split; [exact Hy|]. intros other Ho Do. destruct (H other Ho Do) as [L|[E L]]; [left|right; split; [|exact L]].
  - apply (scaled_less _ k' net _ V x BP T t other y S'). exact L.
  - apply (scaled_equal _ k' net _ V x BP T t other y S'). exact E.
Qed.

Theorem verified_ranges (base s : Z) (bits z : network Z) (P : problem) (read V : Z -> Z -> Z) (low high : rows) (moves : Z -> Z -> Z * Z) (classes : Z) (p : ranges_prepared)
    (by_prediction : bool) (t y : Z) (c : range_claim) :
  integers_of base s bits z ->
  (forall n d, to_integer base (read n d) = Some (V n d)) ->
  (forall n d, inject_Z (fst (moves n d)) == 2 ^ base * low n d /\ inject_Z (snd (moves n d)) == 2 ^ base * high n d)%Q ->
  prepare_ranges z classes P V moves = Some p ->
  let x : rows := fun n d => float_value (read n d) in
  match judge_ranges p by_prediction t y c with
  | Some IsRobust => robust (rational bits) (by_ranges P x low high) classes t y
  | Some IsBroken => broken (rational bits) (by_ranges P x low high) classes t y /\ (by_prediction = true -> predicted (rational bits) x classes t y)
  | Some IsTied => tied (rational bits) (by_ranges P x low high) classes t y /\ (by_prediction = true -> predicted (rational bits) x classes t y)
  | None => True
  end.
Proof.
  intros IN RD MV HP x. assert (forall n d, (inject_Z (V n d) == 2 ^ base * x n d)%Q) as READ by (intros n d; apply to_integer_spec, RD).
  destruct (integers_scaled base s bits z IN) as (k & _ & S).
  assert (forall D V', 0 < D -> forall X : rows, times base D V' X -> forall m i j,
    (zvalue (dilate D z) V' m i < zvalue (dilate D z) V' m j <-> (preactivation (rational bits) X m i < preactivation (rational bits) X m j)%Q) /\
    (zvalue (dilate D z) V' m i = zvalue (dilate D z) V' m j -> (preactivation (rational bits) X m i == preactivation (rational bits) X m j)%Q)) as BOTH.
  { intros D V' HD X RX m i j. destruct (scaled_dilate D (2 ^ base) k (rational bits) z HD S) as (k' & _ & S'). pose proof (unit_pos base D HD) as BP. split.
    - exact (scaled_less _ k' _ _ V' X BP RX m i j S').
    - exact (scaled_equal _ k' _ _ V' X BP RX m i j S'). }
  pose proof (leading_predicted base k (rational bits) z classes V x t y READ S) as PR.
  destruct c as [scale trees|other D entries]; cbn [judge_ranges].
  - destruct (margins_exceed _ _ _ _ _ _) eqn:M; [|exact I]. intros X BX other Ho Do.
    destruct (made_into base P V low high x moves READ MV X BX) as (D & V' & AT & EX).
    destruct (margins_sound z classes P V moves p HP _ t y scale trees D V' other M AT Ho Do) as (_ & e & [= <-] & L). apply (BOTH D V' (proj1 AT) X EX). lia.
  - destruct (moved_by _ _ _ _ _ _ _) as [e|] eqn:M; [|exact I].
    destruct (moved_sound z classes P V moves p HP _ _ _ _ _ _ _ M) as (V' & AT & _ & Ho & Do & -> & PD).
    destruct (made_out base P V low high x moves READ MV D V' AT) as (X & BX & EX).
    destruct (Z.ltb_spec 0 (zvalue (dilate D z) V' t other - zvalue (dilate D z) V' t y)) as [L|L];
      [|destruct (Z.eqb_spec (zvalue (dilate D z) V' t other - zvalue (dilate D z) V' t y) 0) as [L'|]; [|exact I]];
      (split; [|auto]); exists X, other; (split; [exact BX|]); (split; [exact Ho|]); (split; [exact Do|]); apply (BOTH D V' (proj1 AT) X EX); lia.
Qed.

Print Assumptions verified_ranges.

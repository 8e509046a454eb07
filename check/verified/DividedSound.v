(* Rows divided by their sums: rule 6, and what the checker accepts is true. *)
From Coq Require Import ZArith QArith List Bool Lia Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Units Rows Bends Leaf Trees Sound Floats Menus Divided DividedLeaf.
Import ListNotations.
Open Scope Z_scope.

Local Arguments zvalue : simpl never.

Lemma line_sub p m a b : p <= m -> m * pos (- (a + b)) - p * pos (a + b) <= (m * pos (- a) - p * pos a) + (m * pos (- b) - p * pos b).
Proof.
  intros L. assert (pos (a + b) = a + b + pos (- (a + b))) as -> by (unfold pos; lia). assert (pos a = a + pos (- a)) as -> by (unfold pos; lia).
  assert (pos b = b + pos (- b)) as -> by (unfold pos; lia). assert (pos (- (a + b)) <= pos (- a) + pos (- b)) by (unfold pos; lia). nia.
Qed.

Lemma pos_scale c x : 0 <= c -> pos (c * x) = c * pos x.
Proof. intros H. unfold pos. nia. Qed.

Lemma line_scale p m c x : 0 <= c -> m * pos (- (c * x)) - p * pos (c * x) = c * (m * pos (- x) - p * pos x).
Proof. intros H. replace (- (c * x)) with (c * - x) by ring. rewrite !pos_scale by exact H. ring. Qed.

Lemma worth_raised units s c : worth units s c <= worth units (map raised s) c.
Proof.
  unfold worth. revert s. induction units as [|u units IH]; intros [|p s]; cbn [map combine]; rewrite ?zsum_nil, ?zsum_cons; try lia. cbn [fst snd raised]. specialize (IH s).
  assert (snd p * pos (- c u) <= Z.max (fst p) (snd p) * pos (- c u)) by (apply Z.mul_le_mono_nonneg_r; unfold pos; lia). lia.
Qed.

Lemma worth_raised_sub units s x y : worth units (map raised s) (fun j => x j + y j) <= worth units (map raised s) x + worth units (map raised s) y.
Proof.
  unfold worth. rewrite <- zsum_plus. apply zsum_le_in. intros [u p] I. apply in_combine_r in I. apply in_map_iff in I as (q & <- & _). cbn [fst snd raised].
  apply line_sub. lia.
Qed.

Lemma worth_scale units s c x : 0 <= c -> worth units s (fun j => c * x j) = c * worth units s x.
Proof. intros H. unfold worth. rewrite <- zsum_scale. apply zsum_ext. intros p. apply line_scale. exact H. Qed.

Section Loss.
  Variables (P : problem) (first : layer Z) (ready_width width : Z) (items : list (list unit2 * list (ready * Z))).
  Let made := all_ready (count P) ready_width first.
  Hypothesis ALIGNED : forall it, In it items -> map place (fst it) = ids width.
  Hypothesis READY : forall it e, In it items -> In e (snd it) -> In (fst e) made.
  Hypothesis UNBENT : forall it u, In it items -> In u (fst it) -> bent u = [].
  Let parts := flat_map (contributions plain) items.
  Let sp := specials items.

  Lemma made_numbers a b : In a made -> In b made -> number a = number b -> a = b.
  Proof.
    unfold made, all_ready. intros Ia Ib E. apply in_map_iff in Ia as (x & <- & Ia). apply in_map_iff in Ib as (y & <- & Ib). cbn [number make_ready] in E.
    assert (x = y) as ->; [|reflexivity]. pose proof (numbered_keys first) as ND. destruct x as [i t], y as [j u]. cbn [fst] in E. subst j.
    clear - Ia Ib ND. induction (numbered first) as [|[k v] l IH]; [destruct Ia|]. cbn [map] in ND. inversion ND as [|? ? NI ND']; subst.
    destruct Ia as [Ea|Ia], Ib as [Eb|Ib]; [congruence| | |auto].
    - inversion Ea; subst. exfalso. apply NI. apply (in_map fst _ (i, u) Ib).
    - inversion Eb; subst. exfalso. apply NI. apply (in_map fst _ (i, t) Ia).
  Qed.

  Lemma made_nodup : NoDup made.
  Proof.
    unfold made, all_ready. pose proof (numbered_keys first) as ND. induction (numbered first) as [|t l IH]; cbn [map] in *; [constructor|].
    inversion ND as [|? ? NI ND']; subst. constructor; [|auto]. intros I. apply in_map_iff in I as (u & E & I). apply NI.
    assert (fst t = fst u) as -> by (apply (f_equal number) in E; cbn [number make_ready] in E; congruence). apply in_map. exact I.
  Qed.

  Lemma worth_parts (x : vector) :
    zsum made (fun t => worth (ids width) (slopes_of parts (number t)) (x t)) =
    zsum items (fun it => zsum (snd it) (fun e => zsum (fst it) (fun u =>
      let y := snd e * x (fst e) (place u) in snd (plain (single it) u) * pos (- y) - fst (plain (single it) u) * pos y))).
  Proof.
    transitivity (zsum parts (fun c => zsum made (fun t => if Z.eqb (fst c) (number t) then worth (ids width) (snd c) (x t) else 0))).
    { rewrite zsum_swap. apply zsum_ext. intros t. apply worth_slopes. }
    unfold parts. rewrite zsum_flat_map. apply zsum_ext_in. intros it Hit. unfold contributions. rewrite zsum_map. cbn [fst snd].
    apply zsum_ext_in. intros e He. pose proof (READY it e Hit He) as R.
    rewrite (zsum_single made (fst e) _ made_nodup R).
    - rewrite Z.eqb_refl, <- (ALIGNED it Hit), map_map, worth_units. apply zsum_ext. intros u. cbn zeta. apply turn_spec.
    - intros b Hb N. destruct (Z.eqb_spec (number (fst e)) (number b)) as [E|]; [|reflexivity]. exfalso. apply N. symmetry. apply made_numbers; assumption.
  Qed.

  Definition kinks (x : vector) : Z := zsum sp (fun it => zsum (fst (snd it)) (fun u => kink (fst it) u (along x (snd (snd it)) (place u)))).
  Definition losing (x : vector) : Z := zsum made (fun t => worth (ids width) (map raised (slopes_of parts (number t))) (x t)) + kinks x.
  Definition true_loss (x : vector) : Z := zsum items (fun it => zsum (fst it) (fun u => line_loss u (along x (snd it) (place u)))).

  Lemma kinks_all x : kinks x = zsum items (fun it => zsum (fst it) (fun u => kink (single it) u (along x (snd it) (place u)))).
  Proof.
    unfold kinks, sp, specials. rewrite zsum_filter, zsum_map. cbn [fst snd]. apply zsum_ext_in. intros it Hit.
    transitivity (zsum (filter (special (single it)) (fst it)) (fun u => kink (single it) u (along x (snd it) (place u)))).
    - destruct (filter _ _); reflexivity.
    - rewrite zsum_filter. apply zsum_ext_in. intros u Hu. unfold special. rewrite (UNBENT it u Hit Hu). unfold kink. destruct (straight (single it) u); reflexivity.
  Qed.

  Lemma true_loss_le x : true_loss x <= losing x.
  Proof.
    unfold losing. transitivity (zsum made (fun t => worth (ids width) (slopes_of parts (number t)) (x t)) + kinks x).
    - rewrite worth_parts, kinks_all, <- zsum_plus. unfold true_loss. apply zsum_le_in. intros it Hit. rewrite zsum_swap, <- zsum_plus. apply zsum_le_in. intros u Hu.
      pose proof (line_plain P 0 0 (single it) u (map (fun e => snd e * x (fst e) (place u)) (snd it)) (one_alone P 0 0 it _)) as LP.
      rewrite !zsum_map in LP. cbn zeta. rewrite LP. fold (along x (snd it) (place u)). unfold kink, line_loss.
      set (g := along x (snd it) (place u)). destruct (straight (single it) u); [lia|].
      assert (fall u * pos (- g) <= Z.max (rise u) (fall u) * pos (- g)) by (apply Z.mul_le_mono_nonneg_r; unfold pos; lia). lia.
    - apply Z.add_le_mono_r. apply zsum_le_in. intros t _. apply worth_raised.
  Qed.

  Lemma losing_sublinear : sublinear losing.
  Proof.
    constructor.
    - intros x y E. unfold losing, kinks. f_equal.
      + apply zsum_ext. intros t. unfold worth. apply zsum_ext. intros p. rewrite E. reflexivity.
      + apply zsum_ext. intros it. apply zsum_ext. intros u. f_equal. unfold along. apply zsum_ext. intros e. rewrite E. reflexivity.
    - intros x y. unfold losing, kinks.
      assert (forall a b c d e f : Z, a <= b + c -> d <= e + f -> a + d <= b + e + (c + f)) as ARITH by (intros; lia). apply ARITH; rewrite <- zsum_plus; apply zsum_le_in.
      + intros t _. apply worth_raised_sub.
      + intros it _. rewrite <- zsum_plus. apply zsum_le_in. intros u _. unfold kink. destruct (straight (fst it) u); [lia|].
        assert (along (fun t j => x t j + y t j) (snd (snd it)) (place u) = along x (snd (snd it)) (place u) + along y (snd (snd it)) (place u)) as ->.
        { unfold along. rewrite <- zsum_plus. apply zsum_ext. intros. ring. }
        apply line_sub. lia.
    - intros c x H. unfold losing, kinks. rewrite Z.mul_add_distr_l, <- !zsum_scale. f_equal; apply zsum_ext.
      + intros t. apply worth_scale. exact H.
      + intros it. rewrite <- zsum_scale. apply zsum_ext. intros u. unfold kink. destruct (straight (fst it) u); [lia|].
        assert (along (fun t j => c * x t j) (snd (snd it)) (place u) = c * along x (snd (snd it)) (place u)) as ->.
        { unfold along. rewrite <- zsum_scale. apply zsum_ext. intros. ring. }
        apply line_scale. exact H.
  Qed.

  Lemma lost_spec removed ds (y : vector) : (forall t j, y t j = zsum ds (fun d => weight (source t) d j)) ->
    lost (map (map raised) (all_slopes made plain items)) sp removed (map (fun t => map (y t) (ids width)) made) ds = losing (fun t j => (if removed then -1 else 1) * y t j).
  Proof.
    intros EY. unfold lost, losing, kinks. f_equal.
    - unfold products, all_slopes. rewrite map_map. fold parts.
      assert (forall l, zsum (combine (map (fun t => map raised (slopes_of parts (number t))) l) (map (fun t => map (y t) (ids width)) l)) (fun p => product removed (fst p) (snd p)) =
        zsum l (fun t => worth (ids width) (map raised (slopes_of parts (number t))) (fun j => (if removed then -1 else 1) * y t j))) as K; [|apply K].
      induction l as [|t l IH]; [reflexivity|]. cbn [map combine]. rewrite !zsum_cons, IH. cbn [fst snd]. f_equal. apply product_worth.
    - apply zsum_ext. intros it. apply zsum_ext. intros u. f_equal. unfold along, weights. rewrite zsum_swap.
      rewrite (zsum_ext _ (fun e => snd e * ((if removed then -1 else 1) * y (fst e) (place u))) (fun e => (if removed then -1 else 1) * (snd e * y (fst e) (place u)))) by (intros; ring).
      rewrite zsum_scale. f_equal. apply zsum_ext. intros e. rewrite EY, zsum_scale. reflexivity.
  Qed.
End Loss.

Section DividedBound.
  Variables (P : problem) (F : list flip) (sigma : Z -> Z) (C : list condition) (present : Z -> list Z).
  Variables (sign : Z -> Z -> Z -> option bool) (whole : Z -> Z -> option (list (Z * Z))) (first : layer Z) (width : Z) (h : hints).
  Hypothesis A : admissible P F.
  Hypothesis CO : forall c, In c C -> fulfils P F c.
  Hypothesis SIZE : 0 <= count P.
  Hypothesis SG : forall c, 0 <= c <= count P -> 0 <= sigma c.
  Hypothesis PRESENT : forall n, present n = filter (attributes P n) (ids (count P)).
  Hypothesis IN : inputs first = count P.
  Let made := all_ready (count P) width first.
  Let listed := map (fun d => (d, map (fun t => map (weight (source t) d) (ids width)) made)) (ids (count P)).
  Let Y := divided sigma (count P) (flipped (attributes P) F).
  Let changed := delta P F sigma.
  Let effect_of := row_effect P F sigma first.

  Lemma loss_menu_sound n items n' mn :
    (forall it, In it items -> map place (fst it) = ids width) -> (forall it e, In it items -> In e (snd it) -> In (fst e) made) ->
    (forall it u, In it items -> In u (fst it) -> bent u = []) ->
    loss_menu P sigma C present made listed width (n, items) = Got (n', mn) ->
    n' = n /\ exists v, In (size (of_node n F), v) mn /\ true_loss items (changed n) <= v.
  Proof.
    intros AL RE UB H. unfold loss_menu in H. cbv zeta in H.
    set (s := map (map raised) (all_slopes made plain items)) in *. set (sp := specials items) in *.
    set (of := ranks_lost P listed s sp n) in H.
    destruct (of false) as [adds|] eqn:EA; [|discriminate]. destruct (of true) as [removes|] eqn:ER; [|discriminate]. inversion H. subst n' mn. clear H. split; [reflexivity|].
    set (f := losing P first width width items).
    pose proof (losing_sublinear P first width width items) as S. fold f in S.
    assert (forall removed l, of removed = Some l ->
      best_sums (left_in P n) l (fun d => f (fun t j => (if removed then -1 else 1) * weight_vector d t j)) (fun d => 0 <= d < count P /\ kept P n removed d = true)) as K.
    { intros removed l E. unfold of, ranks_lost in E. destruct (Z.leb_spec (left P n) 0) as [L|L].
      - inversion E. subst l. intros B ND HB LB. assert (left_in P n = 0) as L0 by (unfold left_in; lia). destruct B; [|cbn [length] in LB; lia].
        exists 0. split; [left; reflexivity|]. rewrite zsum_nil. lia.
      - destruct (ranked _) as [full|] eqn:EF; [|discriminate]. inversion E. subst l. apply ranked_spec in EF as [F1 F2].
        apply (best_of full (filter (kept P n removed) (ids (count P)))); [exact F1| |].
        + intros g. rewrite F2, zsum_map, !zsum_filter. unfold listed. rewrite zsum_map. cbn [fst snd]. apply zsum_ext. intros d.
          destruct (kept P n removed d); [|reflexivity]. f_equal.
          pose proof (lost_spec P first width width items removed [d] (weight_vector d)) as LS. unfold s, sp. fold made in LS. unfold f. rewrite <- LS; [reflexivity|].
          intros t j. unfold weight_vector. rewrite zsum_cons, zsum_nil. lia.
        + intros d [H1 H2]. apply filter_In. split; [apply ids_in; exact H1|exact H2]. }
    assert (forall removed, lost s sp removed (map (fun t => map (fun j => zsum (present n) (fun d => weight (source t) d j)) (ids width)) made) (present n) =
      f (fun t j => (if removed then -1 else 1) * whole_vector present n t j)) as KW.
    { intros removed. unfold s, sp, f. exact (lost_spec P first width width items removed (present n) (whole_vector present n) (fun t j => eq_refl)). }
    rewrite !KW. cbv match.
    rewrite (sub_ext f S (fun t j => 1 * whole_vector present n t j) (whole_vector present n)) by (intros; lia).
    rewrite (sub_ext f S (fun t j => -1 * whole_vector present n t j) (minus (whole_vector present n))) by (intros; unfold minus; lia).
    destruct (menu_has P F sigma C present A CO SIZE SG PRESENT f n adds removes S) as (v & Iv & Lv).
    - apply (best_sums_ext _ _ _ _ _ (fun d => sub_ext f S (fun t j => 1 * weight_vector d t j) (weight_vector d) (fun t j => Z.mul_1_l _)) (K false adds EA)).
    - refine (best_sums_ext _ _ _ _ _ _ (K true removes ER)). intros d. apply (sub_ext f S). intros. unfold minus. lia.
    - exists v. split; [exact Iv|]. etransitivity; [|exact Lv]. apply true_loss_le; assumption.
  Qed.

  Lemma row_loss_bound_sound lines : unbent lines ->
    match row_loss_bound P sigma C present made h listed width lines with
    | Got T => zsum (touched F) (lines_loss P F sigma first lines) <= T
    | Impossible => False
    | Failed => True
    end.
  Proof.
    intros UB. unfold row_loss_bound. set (all := map _ lines). set (reached := group (near all)).
    destruct (forallb _ all && _ && _) eqn:E; [|exact I]. apply andb_prop in E as [E ASC]. apply andb_prop in E as [EA EL]. rewrite forallb_forall in EA, EL.
    pose proof (ascending_nodup _ ASC) as ND.
    assert (forall e, In e lines -> ascending (links made (fst e)) = true) as AL.
    { intros e He. apply (EA (links made (fst e), snd e)). unfold all. apply in_map_iff. exists e. auto. }
    assert (forall n items it, In (n, items) reached -> In it items -> exists m, In (m, fst it) lines /\ In (n, snd it) (links made m)) as IT.
    { intros n items it Hr Hit. pose proof (group_in _ n items it Hr Hit) as I. unfold near in I. apply in_flat_map in I as ([ls us] & I1 & I2).
      apply in_map_iff in I2 as ([n' grp] & Eq & I2). unfold all in I1. apply in_map_iff in I1 as ([m us'] & Eq' & I1). cbn [fst snd] in *. inversion Eq'; subst. inversion Eq; subst. eauto. }
    assert (forall n, lines_loss P F sigma first lines n = zsum reached (fun g => if Z.eqb (fst g) n then true_loss (snd g) (changed n) else 0)) as LL.
    { intros n. unfold true_loss.
      rewrite (zsum_ext reached _ (fun g => zsum (snd g) (fun it => if Z.eqb (fst g) n then zsum (fst it) (fun u => line_loss u (along (changed n) (snd it) (place u))) else 0)))
        by (intros g; destruct (Z.eqb (fst g) n); [reflexivity|]; symmetry; apply zsum_zero; reflexivity).
      unfold reached. rewrite (group_sum _ (fun q it => if Z.eqb q n then zsum (fst it) (fun u => line_loss u (along (changed n) (snd it) (place u))) else 0)).
      unfold near. rewrite zsum_flat_map. unfold all. rewrite zsum_map. unfold lines_loss. apply zsum_ext_in. intros [m us] He. cbn [fst snd]. rewrite zsum_map. cbn [fst snd].
      specialize (AL _ He). cbn [fst] in AL. destruct (in_dec Z.eq_dec n (map fst (links made m))) as [I|NI].
      - apply in_map_iff in I as ([n' grp] & En & I). cbn [fst] in En. subst n'.
        rewrite (zsum_key (links made m) n grp (fun r => zsum us (fun u => line_loss u (along (changed n) (snd r) (place u)))) (ascending_nodup _ AL) I). cbn [snd].
        apply zsum_ext. intros u. f_equal. exact (effect_row P F sigma first width m (place u) n grp AL I).
      - rewrite (zsum_no_key (links made m) n (fun r => zsum us (fun u => line_loss u (along (changed n) (snd r) (place u)))) NI). apply zsum_zero. intros u _.
        rewrite (effect_no_row P F sigma first width m (place u) n NI). unfold line_loss. cbn. lia. }
    destruct (each_one _ reached) as [menus| |] eqn:EM; cbn [bind]; [|exfalso|exact I].
    - apply each_one_got in EM.
      assert (map fst menus = map fst reached /\ forall n mn, In (n, mn) menus -> exists items, In (n, items) reached /\ exists v, In (size (of_node n F), v) mn /\ true_loss items (changed n) <= v) as [EF HV].
      { assert (forall e, In e reached -> In e reached) as SUB by auto. revert SUB EM. generalize reached at 1 3 4 as l. intros l SUB EM.
        induction EM as [|[n items] [n' mn] l ms G EM IH]; [split; [reflexivity|intros ? ? []]|].
        assert (In (n, items) reached) as Ir by (apply SUB; left; reflexivity).
        destruct (loss_menu_sound n items n' mn) as (-> & v & Iv & Lv); [| | |exact G|].
        - intros it Hit. destruct (IT n items it Ir Hit) as (m & I1 & _). apply aligned_spec. exact (EL _ I1).
        - intros it [t a] Hit He. destruct (IT n items it Ir Hit) as (m & _ & I2). exact (links_ready made m n (snd it) t a I2 He).
        - intros it u Hit Hu. destruct (IT n items it Ir Hit) as (m & I1 & _). exact (UB _ u I1 Hu).
        - destruct (IH (fun e I => SUB e (or_intror I))) as [IH1 IH2]. split; [cbn [map fst]; rewrite IH1; reflexivity|].
          intros n0 mn0 [E|I]; [inversion E; subst; exists items; split; [exact Ir|eauto]|eauto]. }
      apply (lose_rows_sound P F C A menus (price h) (lines_loss P F sigma first lines)).
      + rewrite EF. exact ND.
      + intros n mn I. destruct (HV n mn I) as (items & Ig & v & Iv & Lv). exists v. split; [exact Iv|]. rewrite LL.
        rewrite (zsum_key reached n items (fun g => true_loss (snd g) (changed n)) ND Ig). exact Lv.
      + intros n NI. rewrite EF in NI. rewrite LL, (zsum_no_key reached n (fun g => true_loss (snd g) (changed n)) NI). lia.
      + intros n NI. unfold lines_loss. rewrite zsum_zero; [lia|]. intros e _. apply zsum_zero. intros u _.
        rewrite (effect_untouched P F sigma first (fst e) (place u) n NI). unfold line_loss. cbn. lia.
    - apply each_one_impossible in EM as ([n items] & _ & G). unfold loss_menu in G.
      repeat match type of G with match ?x with _ => _ end = _ => destruct x; try discriminate end.
  Qed.

  Theorem row_bound_sound net top o : ends net first -> zobeys sign net Y -> zwhole whole net Y ->
    match row_bound P sigma C present sign whole made h listed width net top o with
    | Got b => b <= zobjective net Y top o
    | Impossible => False
    | Failed => True
    end.
  Proof.
    intros E O W. unfold row_bound. rewrite (hopeless_sound P F C A CO).
    pose proof (row_descend_sound P F sigma C present sign whole first width h A CO SIZE SG PRESENT IN net top o E O W) as D. fold made in D.
    destruct (row_descend P sigma C present sign whole made h net top o) as [[c lines]| |]; cbn [bind]; auto. destruct D as [D1 D2]. cbn [fst snd].
    pose proof (row_loss_bound_sound lines D1) as L. destruct (row_loss_bound _ _ _ _ _ _ _ _ lines) as [T| |]; cbn [bind]; auto. fold Y in D2. lia.
  Qed.
End DividedBound.

Lemma divided_reads sigma size X first : inputs first = size -> reads first (divided_rows sigma X) (divided sigma size X).
Proof.
  intros I n w. rewrite I. unfold divided_rows, divided. rewrite zsum_map. cbn [fst snd]. rewrite zsum_filter. apply zsum_ext. intros d.
  destruct (X n d); cbn [bit]; lia.
Qed.

Lemma prepared_rows_sound net top P0 sigma p : prepare_rows net top P0 sigma = Some p -> sound net top P0 no_rivals (divided sigma (count P0)) p.
Proof.
  unfold prepare_rows. destruct (bottom net top) as [[first w]|] eqn:B; [|discriminate].
  destruct (Z.leb 0 (count P0) && Z.eqb (inputs first) (count P0) && forallb _ (ids (count P0 + 1))) eqn:E; [|discriminate]. intros [= <-].
  apply andb_prop in E as [E SG]. apply andb_prop in E as [E1 E2]. apply Z.leb_le in E1. apply Z.eqb_eq in E2. pose proof (bottom_ends _ _ _ _ B) as EN0.
  assert (forall c, 0 <= c <= count P0 -> 0 <= sigma c) as SG'. { intros c Hc. rewrite forallb_forall in SG. apply Z.leb_le, SG, ids_in. lia. }
  assert (forall P n, get (tabulate (fun n => filter (attributes P n) (ids (count P)))) n = filter (attributes P n) (ids (count P))) as PRESENT
    by (intros P n; rewrite get_tabulate; reflexivity).
  constructor; try reflexivity.
  - intros X Y H n d. unfold divided. rewrite (filter_ext (X n) (Y n)) by (intros; apply H). rewrite H. reflexivity.
  - intros P F C s whole h net' width o CP A CO EN O W. cbn [view_of bound_of row_view]. rewrite <- CP in *.
    exact (row_bound_sound P F sigma C _ s whole first w h A CO E1 SG' (PRESENT P) E2 net' width o (EN _ EN0) O W).
  - intros P F whole h shortcut net' width wanted CP A EN W. cbn [view_of intervals_of row_view]. rewrite <- CP in *.
    exact (row_intervals_sound P F sigma [] _ no_signs whole first w h A (fun _ (e : False) => match e with end) E1 SG' (PRESENT P) E2 shortcut net' width wanted (EN _ EN0) (no_signs_obeyed _ _) W).
  - intros P F t CP. cbn [view_of logits_of row_view].
    apply (logits_from_spec net top first w (divided_rows sigma) (divided sigma (count P0)) (attributes P) F t _ B); [apply sent_from_spec, divided_reads; exact E2|intros Y; apply divided_reads; exact E2|].
    intros Y n H d. unfold divided. rewrite (filter_ext (attributes P n) (Y n)) by exact H. rewrite H. reflexivity.
Qed.

(* The last word about rows that are divided by their sums: `share` are the floats by which. *)
Theorem verified_rows (base s : Z) (bits z : network Z) (P : problem) (share sigma : Z -> Z) (classes : Z) (p : prepared)
    (lines : list bounds_line) (whole : bounds) (by_prediction : bool) (t y : Z) (c : claim) :
  integers_of base s bits z ->
  (forall count, to_integer base (share count) = Some (sigma count)) ->
  prepare_rows z classes P sigma = Some p ->
  all_lines p no_bounds lines = Some whole ->
  let shares count := float_value (share count) in
  let rows := divided_by shares (count P) (attributes P) in
  match judge p P whole by_prediction t y c with
  | Some IsRobust => robust (rational bits) (by_flips_divided P shares) classes t y
  | Some IsBroken => broken (rational bits) (by_flips_divided P shares) classes t y /\ (by_prediction = true -> predicted (rational bits) rows classes t y)
  | Some IsTied => tied (rational bits) (by_flips_divided P shares) classes t y /\ (by_prediction = true -> predicted (rational bits) rows classes t y)
  | None => True
  end.
Proof.
  intros INT SH HP HL shares rows. destruct (integers_scaled base s bits z INT) as (k & _ & S).
  assert (forall X n d, (inject_Z (divided sigma (count P) X n d) == 2 ^ base * divided_by shares (count P) X n d)%Q) as READ.
  { intros X n d. unfold divided, divided_by. destruct (X n d); cbn [bit]; [|cbn; ring]. rewrite Z.mul_1_l. apply to_integer_spec, SH. }
  pose proof (fun X => scaled_less (2 ^ base) k (rational bits) z _ _ (two_power_pos base) (READ X)) as LT.
  pose proof (fun X => scaled_equal (2 ^ base) k (rational bits) z _ _ (two_power_pos base) (READ X)) as EQ.
  pose proof (judge_sound z P classes no_rivals _ p (prepared_rows_sound _ _ _ _ _ HP) lines whole by_prediction t y c HL) as J. cbn zeta in J.
  assert (zpredicted z P classes (divided sigma (count P)) t y -> predicted (rational bits) rows classes t y) as PR.
  { intros [Hy H]. split; [exact Hy|]. intros other Ho D. destruct (H other Ho D) as [L|[E L]]; [left; apply (LT (attributes P)); assumption|right; split; [|exact L]].
    apply (EQ (attributes P) t other y S E). }
  destruct (judge p P whole by_prediction t y c) as [[| |]|]; [| | |exact I].
  - intros X (F & A & ->) other Ho D. apply LT; [exact S|]. apply J; auto using apart_none.
  - destruct J as [(F & other & A & _ & Ho & D & L) PD]. split; [|auto].
    exists (divided_by shares (count P) (flipped (attributes P) F)), other. split; [exists F; auto|]. split; [exact Ho|]. split; [exact D|]. apply LT; assumption.
  - destruct J as [(F & other & A & _ & Ho & D & L) PD]. split; [|auto].
    exists (divided_by shares (count P) (flipped (attributes P) F)), other. split; [exists F; auto|]. split; [exact Ho|]. split; [exact D|]. apply (EQ _ t y other S L).
Qed.

Print Assumptions verified_rows.

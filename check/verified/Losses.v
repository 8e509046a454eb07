(* Rule 6: the largest admissible sum of losses. *)
From Coq Require Import ZArith List Bool Lia Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Units Rows Bends Leaf.
Import ListNotations.
Open Scope Z_scope.

(* What rows of losses have to do with what flips lose: a row that is left out loses nothing. *)
Definition losing_sound (P : problem) (first : layer Z) (width : Z) (L : flip -> Z) (rows : list (Z * (unit -> losing))) : Prop :=
  (forall n d, free P n d = true -> ~ In n (map fst rows) -> L (n, d) <= 0) /\
  forall n row d p, In (n, row) rows -> 0 <= p ->
    let ws := map (fun t => map (weight (snd t) d) (ids width)) (numbered first) in
    L (n, d) <= Z.max (lost (row tt) p d ws) p /\ 0 <= steepness (row tt) /\ (steepness (row tt) * squares ws <= p * p -> L (n, d) <= p) /\
    L (n, d) <= roughly_lost (row tt) d.

Section Largest.
  Variables (P : problem) (F : list flip) (first : layer Z) (width : Z) (l2 : layer2) (h : hints).
  Hypothesis A : admissible P F.
  Hypothesis IN : inputs first = count P.
  Hypothesis KNOWS : knows P first width l2.
  Let made := all_ready (count P) width first.
  Let X := attributes P.

  Lemma losses_sound lines ns found : proper_lines lines -> proper_nest h width ns -> losses P made l2 h width lines ns = Got found ->
    losing_sound P first width (fun f => total_loss P first lines f + nest_loss P first h ns f) found.
  Proof.
    intros PL PN. unfold losses.
    rewrite (map_ext (fun e : Z * list unit2 => (linked l2 (fst e), snd e)) (fun e => (links made (fst e), snd e))) by (intros; rewrite (knows_links _ _ _ _ KNOWS); reflexivity).
    rewrite (sound_surroundings_ext _ _ _ _ (knows_links _ _ _ _ KNOWS)), (surroundings_ext _ _ _ (knows_links _ _ _ _ KNOWS)). fold made. set (all := map _ lines). set (reached := group (near all)). set (more := far _ all).
    set (rows := match more with [] => reached | _ => _ end).
    set (changeable := filter _ rows).
    destruct (forallb _ all && _ && _ && _) eqn:E; [|discriminate]. intros RESULT.
    apply andb_prop in E as [E ASC]. apply andb_prop in E as [E ASR]. apply andb_prop in E as [EA EL].
    rewrite forallb_forall in EA, EL. pose proof (ascending_nodup _ ASC) as ND. pose proof (ascending_nodup _ ASR) as NDR.
    assert (forall e, In e lines -> NoDup (map fst (links made (fst e)))) as NDL.
    { intros e He. apply ascending_nodup. apply (EA (links made (fst e), snd e)). unfold all. apply in_map_iff. exists e. auto. }
    (* Whatever is added up over the rows is added up over what is near and what is far. *)
    assert (forall f, zsum rows (fun g => zsum (snd g) (f (fst g))) = zsum (near all ++ more) (fun e => f (fst e) (snd e))) as SUM.
    { intros f. unfold rows. destruct more; [rewrite app_nil_r|]; apply group_sum. }
    assert (forall n g it, In (n, g) rows -> In it g -> In (n, it) (near all ++ more)) as MEM.
    { intros n g it. unfold rows. destruct more; [rewrite app_nil_r|]; apply group_in. }
    (* What a flip loses is in the row of its node. *)
    set (L := fun (n d : Z) (it : list unit2 * list (ready * Z)) => zsum (fst it) (fun u => loss u (n, d) (change X n d * weights (snd it) (place u) d))).
    assert (forall n d, total_loss P first lines (n, d) <= zsum rows (fun g => if Z.eqb (fst g) n then zsum (snd g) (L n d) else 0)) as TL.
    { intros n d.
      rewrite (zsum_ext rows _ (fun g => zsum (snd g) (fun it => if Z.eqb (fst g) n then L n d it else 0)))
        by (intros g; destruct (Z.eqb (fst g) n); [reflexivity|]; symmetry; apply zsum_zero; reflexivity).
      rewrite (SUM (fun k it => if Z.eqb k n then L n d it else 0)), zsum_app. unfold near, more, far. rewrite !zsum_flat_map, <- zsum_plus. unfold all. rewrite zsum_map.
      unfold total_loss. apply zsum_le_in. intros [m units] He. cbn [fst snd]. rewrite zsum_map. cbn [fst snd].
      specialize (NDL _ He). cbn [fst] in NDL.
      match goal with |- _ <= _ + ?r => set (beyond := r) end.
      destruct (in_dec Z.eq_dec n (map fst (links made m))) as [I|NI].
      - assert (beyond = 0) as ->.
        { unfold beyond. destruct (existsb _ units); [|reflexivity]. rewrite zsum_map, zsum_filter. cbn [fst snd]. apply zsum_zero. intros k _.
          destruct (existsb (concerns k) units && negb (existsb (fun r => Z.eqb (fst r) k) (links made m))) eqn:EK; [|reflexivity].
          destruct (Z.eqb_spec k n) as [->|]; [|reflexivity]. exfalso. apply andb_prop in EK as [_ EK]. apply negb_true_iff in EK.
          assert (existsb (fun r => Z.eqb (fst r) n) (links made m) = true); [|congruence].
          apply in_map_iff in I as (r & Er & I). apply existsb_exists. exists r. split; [exact I|]. apply Z.eqb_eq. exact Er. }
        apply in_map_iff in I as ([n' grp] & En & I). cbn [fst] in En. subst n'.
        rewrite (zsum_key (links made m) n grp (fun r => L n d (units, snd r)) NDL I). unfold L. cbn [fst snd]. rewrite Z.add_0_r.
        apply Z.eq_le_incl, zsum_ext. intros u. f_equal. rewrite <- (links_effect_spec first (count P) width). fold made. fold X.
        apply links_effect_row; assumption.
      - rewrite (zsum_no_key (links made m) n (fun r => L n d (units, snd r)) NI), Z.add_0_l.
        assert (zsum units (fun u => loss u (n, d) (effect first (attributes P) m (place u) (n, d))) = L n d (units, [])) as EL0.
        { unfold L. cbn [fst snd]. apply zsum_ext. intros u. f_equal. rewrite <- (links_effect_spec first (count P) width). fold made.
          rewrite links_effect_no_row by assumption. unfold weights. rewrite zsum_nil. lia. }
        rewrite EL0.
        assert (L n d (units, []) <= 0) as NEG.
        { unfold L. cbn [fst snd]. apply Z.le_trans with (zsum units (fun _ => 0)); [|rewrite zsum_zero; [lia|reflexivity]].
          apply zsum_le_in. intros u Hu. unfold weights. rewrite zsum_nil, Z.mul_0_r. unfold loss.
          assert (zsum (bent u) (fun b => fst b * charged (snd b) (n, d) 0) <= 0); [|cbn; lia].
          apply Z.le_trans with (zsum (bent u) (fun _ => 0)); [|rewrite zsum_zero; [lia|reflexivity]]. apply zsum_le_in. intros b Hb.
          destruct (PL _ u He Hu b Hb) as [P1 P2]. specialize (P2 (n, d) 0). change (pos 0) with 0 in P2. nia. }
        unfold beyond. destruct (existsb _ units); [|rewrite zsum_nil; exact NEG]. rewrite zsum_map, zsum_filter. cbn [fst snd].
        set (chosen := fun k => existsb (concerns k) units && negb (existsb (fun r => Z.eqb (fst r) k) (links made m))).
        rewrite (zsum_ext _ _ (fun k => if Z.eqb k n then (if chosen k then L n d (units, []) else 0) else 0))
          by (intros k; unfold chosen; destruct (_ && _); destruct (Z.eqb k n); reflexivity).
        destruct (in_dec Z.eq_dec n (map fst reached)) as [I|I].
        + rewrite (zsum_only _ n (fun k => if chosen k then L n d (units, []) else 0) NDR I). destruct (chosen n); lia.
        + rewrite zsum_zero; [exact NEG|]. intros k Hk. destruct (Z.eqb_spec k n); [subst; contradiction|reflexivity]. }
    assert (forall n items it, In (n, items) rows -> In it items -> exists m, In (m, fst it) lines /\ (In (n, snd it) (links made m) \/ snd it = [])) as IT.
    { intros n items it Hr Hit. pose proof (MEM n items it Hr Hit) as I. apply in_app_or in I as [I|I].
      - unfold near in I. apply in_flat_map in I as ([ls us] & I1 & I2). apply in_map_iff in I2 as ([n' grp] & Eq & I2).
        unfold all in I1. apply in_map_iff in I1 as ([m us'] & Eq' & I1). cbn [fst snd] in *. inversion Eq'; subst. inversion Eq; subst. exists m. auto.
      - unfold more, far in I. apply in_flat_map in I as ([ls us] & I1 & I2). destruct (existsb _ _); [|destruct I2].
        apply in_map_iff in I2 as (k & Eq & _). unfold all in I1. apply in_map_iff in I1 as ([m us'] & Eq' & I1). cbn [fst snd] in *.
        inversion Eq'; subst. inversion Eq; subst. exists m. auto. }
    assert (forall n items it, In (n, items) rows -> In it items -> map place (fst it) = ids width) as AL.
    { intros n items it Hr Hit. destruct (IT n items it Hr Hit) as (m & I1 & _). specialize (EL _ I1). cbn [snd] in EL. apply aligned_spec. assumption. }
    assert (forall n items it e, In (n, items) rows -> In it items -> In e (snd it) -> In (fst e) made) as RE.
    { intros n items it [t a] Hr Hit He. destruct (IT n items it Hr Hit) as (m & _ & [I2|I2]); [apply (links_ready made m n (snd it) t a); assumption|].
      rewrite I2 in He. destruct He. }
    assert (forall n items it u, In (n, items) rows -> In it items -> In u (fst it) -> proper u) as PR.
    { intros n items it u Hr Hit Hu. destruct (IT n items it Hr Hit) as (m & I1 & _). apply (PL _ u I1 Hu). }
    assert (forall n items d, In (n, items) rows -> total_loss P first lines (n, d) <= row_loss P n items d) as RL.
    { intros n items d Hr. etransitivity; [apply TL|]. rewrite (zsum_key rows n items (fun g => zsum (snd g) (L n d)) ND Hr). reflexivity. }
    assert (forall n d, ~ In n (map fst rows) -> total_loss P first lines (n, d) <= 0) as OUT.
    { intros n d NI. etransitivity; [apply TL|]. rewrite (zsum_no_key rows n (fun g => zsum (snd g) (L n d)) NI). lia. }
    assert (forall n d, free P n d = true -> ~ In n (map fst changeable) -> ~ In n (map fst rows)) as REST.
    { intros n d FR NI I. apply NI. apply in_map_iff in I as (row & <- & I). apply in_map. unfold changeable. apply filter_In. split; [exact I|].
      unfold free in FR. apply andb_prop in FR as [FR _]. exact FR. }
    assert (forall row, In row changeable -> In row rows) as SUB by (intros row I; unfold changeable in I; apply filter_In in I; apply I).
    clear TL SUM MEM L. clearbody changeable rows more. unfold nest_loss. destruct (joints ns) as [|j0 js0] eqn:EJ.
    - inversion RESULT. subst found. clear RESULT. split.
      + intros n d FR NI. rewrite map_map in NI. cbn [fst] in NI.
        specialize (OUT n d (REST n d FR NI)). unfold bends_loss. rewrite zsum_nil. lia.
      + intros n row d p I NP. apply in_map_iff in I as ([n' items] & EQ & I). cbn [fst snd] in EQ. inversion EQ. subst n' row. clear EQ. apply SUB in I. unfold plain_row. cbn [steepness lost roughly_lost]. cbn zeta. rewrite (knows_rough _ _ _ _ KNOWS).
        pose proof (RL n items d I) as B. unfold bends_loss. rewrite zsum_nil, Z.add_0_r.
        pose proof (row_loss_plain P first width width n d items (fun it H => AL n items it I H) (fun it e H => RE n items it e I H)) as RP.
        pose proof (row_loss_most P first width width n d items (fun it H => AL n items it I H) (fun it e H => RE n items it e I H) (fun it u H => PR n items it u I H)) as RM.
        cbn zeta in RP, RM. fold made in RP, RM. set (ws := map _ (numbered first)) in *. set (above := match specials items with [] => _ | _ => _ end).
        assert (total_loss P first lines (n, d) <= products (attributes P n d) above ws) as ABOVE.
        { etransitivity; [exact B|]. unfold above. destruct (specials items) as [|sp sps] eqn:ES; [|exact RM].
          rewrite RP. unfold extra. rewrite zsum_nil. lia. }
        split; [|split; [apply steepest_nonneg|split; [intros S; etransitivity; [exact ABOVE|apply products_most; assumption]|
          etransitivity; [exact ABOVE|apply rough_bound_sound; exact (knows_grain _ _ _ _ KNOWS)]]]].
        destruct (ruled_out _ _ _ _) eqn:RO; [|lia]. apply (ruled_out_sound _ _ _ _ _ (knows_grain _ _ _ _ KNOWS)) in RO. lia.
    - rewrite <- EJ in *. clear j0 js0 EJ. set (around := surroundings (links made) (senders ns)) in *.
      destruct (sound_surroundings (links made) (senders ns) around && _ && _) eqn:E; [|discriminate]. inversion RESULT as [ET]. clear RESULT ET.
      apply andb_prop in E as [E E3]. apply andb_prop in E as [E1 E2]. rewrite forallb_forall in E2, E3.
      assert (forall n d b, In b (joints ns) -> combined (over b) (moves P h (ground ns) (at_row around n) n d) = gain P first h (ground ns) (over b) (n, d)) as CG.
      { intros n d b Hb. apply combined_gain; auto.
        - intros r Hr. specialize (E2 b Hb). rewrite forallb_forall in E2. specialize (E2 r Hr). apply existsb_exists in E2 as (x & I & E2). apply Z.eqb_eq in E2. rewrite E2. exact I.
        - intros r u Hr Hu. destruct (PN b Hb) as (_ & _ & _ & K). apply (K r Hr). exact Hu. }
      assert (forall n d, bends_loss P first h (ground ns) (joints ns) (n, d) = joint_loss P h (ground ns) (joints ns) (at_row around n) n d) as JL.
      { intros n d. unfold bends_loss, joint_loss. apply zsum_ext_in. intros b Hb. rewrite CG by assumption. reflexivity. }
      set (parts := shades _ _ _) in *. split.
      + intros n d FR NI. rewrite map_map in NI. cbn [fst] in NI.
        apply (REST n d FR) in NI. specialize (OUT n d NI). rewrite JL, at_row_none.
        * pose proof (joint_loss_most P h (ground ns) width (joints ns) [] n d PN) as JM. cbn in JM. lia.
        * intros I. apply NI. apply in_map_iff in I as (r & Er & I). specialize (E3 r I). apply existsb_exists in E3 as (row & I' & E3). apply Z.eqb_eq in E3.
          rewrite <- Er, <- E3. apply in_map. exact I'.
      + intros n row d p I NP. apply in_map_iff in I as ([n' items] & EQ & I). cbn [fst snd] in EQ. inversion EQ. subst n' row. clear EQ. apply SUB in I. unfold nested_row. cbn [steepness lost roughly_lost]. cbn zeta. rewrite (knows_rough _ _ _ _ KNOWS).
        set (here := at_row around n).
        rewrite (map_ext (fun it : Z * list (ready * Z) => (get (tabulate (shaded width parts)) (fst it), snd it)) (fun it => (shaded width parts (fst it), snd it)))
          by (intros it; rewrite get_tabulate; reflexivity).
        set (shadow := map _ here).
        assert (forall it, In it shadow -> exists n2, fst it = shaded width parts n2 /\ In (n, snd it) (links made n2)) as SH.
        { intros it Hit. apply in_map_iff in Hit as ([n2 grp] & <- & Hit). exists n2. cbn [fst snd]. split; [reflexivity|].
          apply at_row_in in Hit as (row & H1 & H2). apply (links_of_surroundings P first width (senders ns) n row); assumption. }
        assert (row_loss P n (items ++ shadow) d <= products (attributes P n d) (all_slopes made most (items ++ shadow)) (map (fun t => map (weight (snd t) d) (ids width)) (numbered first))) as RM.
        { apply (row_loss_most P first width width n d).
          - intros it Hit. apply in_app_or in Hit as [Hit|Hit]; [eauto|]. destruct (SH it Hit) as (n2 & -> & _). apply shaded_places.
          - intros it e Hit He. apply in_app_or in Hit as [Hit|Hit]; [eapply RE; eauto|]. destruct (SH it Hit) as (n2 & _ & IL). destruct e as [t a].
            apply (links_ready made n2 n (snd it) t a); assumption.
          - intros it u Hit Hu. apply in_app_or in Hit as [Hit|Hit]; [eauto|]. destruct (SH it Hit) as (n2 & ES & _). rewrite ES in Hu.
            unfold shaded in Hu. apply in_map_iff in Hu as (q & <- & _). intros b []. }
        rewrite JL. fold here. specialize (RL n items d I).
        assert (total_loss P first lines (n, d) + joint_loss P h (ground ns) (joints ns) here n d <= row_loss P n (items ++ shadow) d) as MOST.
        { unfold row_loss. rewrite zsum_app. apply Z.add_le_mono; [exact RL|]. exact (joint_loss_most P h (ground ns) width (joints ns) here n d PN). }
        pose proof (row_loss_plain P first width width n d items (fun it H => AL n items it I H) (fun it e H => RE n items it e I H)) as RP.
        cbn zeta in RP. fold made in RP. split; [|split; [apply steepest_nonneg|]].
        * destruct (ruled_out _ _ _ _) eqn:RO; cbn [orb].
          -- apply (ruled_out_sound _ _ _ _ _ (knows_grain _ _ _ _ KNOWS)) in RO. lia.
          -- match goal with |- context [Z.leb ?a ?b] => destruct (Z.leb_spec a b) as [S2|S2] end; lia.
        * split; [intros S|]; (etransitivity; [exact MOST|]; etransitivity; [exact RM|]);
            [apply products_most; assumption|apply rough_bound_sound; exact (knows_grain _ _ _ _ KNOWS)].
  Qed.

  Lemma linear_sound sign whole net top o : ends net first ->
    obeys sign net (flipped X F) -> whole_holds whole net (flipped X F) ->
    match linear P sign whole made l2 h (attribute_rows (count P) width first) width net top o with
    | Got (c, rows) => exists L, losing_sound P first width L rows /\ c - zsum F L <= objective_value net (flipped X F) top o
    | Impossible => False
    | Failed => True
    end.
  Proof.
    intros E O W. pose proof (descend_sound P F sign whole first width l2 h A IN KNOWS net top o E O W) as D. unfold linear. fold made in D.
    destruct (descend P sign whole made l2 h _ width net top o) as [[c [lines ns]]| |]; cbn [bind]; auto. destruct D as (D1 & D2 & D3). cbn [fst snd].
    destruct (losses _ _ _ _ _ lines ns) as [rows| |] eqn:EL; cbn [bind]; auto.
    - apply losses_sound in EL; auto. eexists. split; [exact EL|]. rewrite zsum_plus. fold X in D3. lia.
    - unfold losses in EL. destruct (_ && _) in EL; [|discriminate]. destruct (joints ns); [discriminate|]. destruct (_ && _) in EL; discriminate.
  Qed.

  Theorem bound_sound sign whole net top o : ends net first ->
    obeys sign net (flipped X F) -> whole_holds whole net (flipped X F) ->
    match bound P sign whole made l2 h (attribute_rows (count P) width first) width net top o with
    | Got b => b <= objective_value net (flipped X F) top o
    | Impossible => False
    | Failed => True
    end.
  Proof.
    intros E O W. pose proof (linear_sound sign whole net top o E O W) as D. unfold bound.
    destruct (linear P sign whole made l2 h _ width net top o) as [[c rows]| |]; cbn [bind]; auto. destruct D as (L & [OUT IN_ROW] & D). cbn [fst snd].
    destruct (not_negative (price h)) eqn:NN; [|exact I].
    assert (zsum F L <= paid P (price h) + zsum rows (lost_above P h (attribute_rows (count P) width first))); [|lia].
    etransitivity; [apply (selection P F (price h) L (map fst rows) A NN)|].
    - intros n d Hf NI. etransitivity; [apply OUT; [apply (made_is_free P F (n, d) A Hf)|exact NI]|]. apply price_of_nonneg. assumption.
    - apply Z.add_le_mono_l. rewrite zsum_map. apply zsum_le_in. intros [n row] Hr. unfold excess, lost_above. cbn [fst]. set (p := price_of (price h) n).
      assert (0 <= p) as NP by (apply price_of_nonneg; assumption). apply scan_sound; [apply (IN_ROW n row 0 p Hr NP)|apply Z.square_nonneg|].
      intros d. cbn zeta. destruct (IN_ROW n row d p Hr NP) as (I1 & _ & I2 & _). cbn zeta in I1, I2. destruct (free P n d); [|lia]. unfold pos. split; [lia|].
      intros S. specialize (I2 S). lia.
  Qed.
End Largest.

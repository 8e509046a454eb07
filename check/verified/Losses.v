(* Rule 6: the largest admissible sum of losses; and that what is left out by norms loses no more than its price. *)
From Coq Require Import ZArith List Bool Lia Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Units Leaf.
Import ListNotations.
Open Scope Z_scope.

(* Cauchy and Schwarz, for two parts. *)
Lemma schwarz r1 a1 b1 r2 a2 b2 :
  0 <= r1 -> 0 <= r2 -> 0 <= a1 -> 0 <= a2 -> 0 <= b1 -> 0 <= b2 -> r1 * r1 <= a1 * b1 -> r2 * r2 <= a2 * b2 ->
  (r1 + r2) * (r1 + r2) <= (a1 + a2) * (b1 + b2).
Proof.
  intros R1 R2 A1 A2 B1 B2 H1 H2. assert (2 * (r1 * r2) <= a1 * b2 + a2 * b1); [|lia].
  assert (0 <= a1 * b2) by (apply Z.mul_nonneg_nonneg; assumption). assert (0 <= a2 * b1) by (apply Z.mul_nonneg_nonneg; assumption).
  apply Z.square_le_simpl_nonneg; [lia|].
  assert (r1 * r1 * (r2 * r2) <= a1 * b1 * (a2 * b2)) by (apply Z.mul_le_mono_nonneg; auto; apply Z.square_nonneg).
  pose proof (Z.square_nonneg (a1 * b2 - a2 * b1)). lia.
Qed.

Definition steep (p : Z * Z) : Z := Z.max (Z.max (- fst p) (snd p)) 0.

Lemma product_most present s ws : exists r, 0 <= r /\ product present s ws <= r /\
  r * r <= zsum s (fun p => let x := Z.max (Z.max (- fst p) (snd p)) 0 in x * x) * zsum ws (fun w => w * w).
Proof.
  revert ws. induction s as [|p s IH]; intros ws.
  - exists 0. cbn. lia.
  - destruct ws as [|w ws].
    + exists 0. cbn [product]. rewrite zsum_nil. lia.
    + destruct (IH ws) as (r & R1 & R2 & R3). exists (steep p * Z.abs w + r). cbn [product]. rewrite !zsum_cons.
      change (let x := Z.max (Z.max (- fst p) (snd p)) 0 in x * x) with (steep p * steep p).
      assert (0 <= steep p) as S0 by (unfold steep; lia).
      assert (- fst p <= steep p) as S1 by (unfold steep; lia). assert (snd p <= steep p) as S2 by (unfold steep; lia).
      split; [nia|]. split.
      * assert ((if 0 <? w then if present then snd p * w else - (fst p * w) else if present then fst p * w else - (snd p * w)) <= steep p * Z.abs w); [|lia].
        destruct (Z.ltb_spec 0 w); [rewrite Z.abs_eq by lia|rewrite Z.abs_neq by lia]; destruct present; nia.
      * apply schwarz; [apply Z.mul_nonneg_nonneg; lia|assumption|apply Z.square_nonneg| |apply Z.square_nonneg| | |assumption].
        -- apply zsum_nonneg. intros. apply Z.square_nonneg.
        -- apply zsum_nonneg. intros. apply Z.square_nonneg.
        -- fold (steep p). rewrite <- (Z.abs_square w). apply Z.eq_le_incl. ring.
Qed.

Lemma products_most present s ws price : 0 <= price -> steepest s * squares ws <= price * price -> products present s ws <= price.
Proof.
  intros N H.
  assert (exists r, 0 <= r /\ products present s ws <= r /\ r * r <= steepest s * squares ws) as (r & R1 & R2 & R3); [|apply Z.le_trans with r; [lia|]; nia].
  clear N H. unfold products, steepest, squares. revert ws. induction s as [|l s IH]; intros ws.
  - exists 0. cbn. lia.
  - destruct ws as [|w ws].
    + exists 0. cbn [combine]. rewrite !zsum_nil. lia.
    + destruct (IH ws) as (r & R1 & R2 & R3). destruct (product_most present l w) as (q & Q1 & Q2 & Q3).
      exists (q + r). cbn [combine]. rewrite !zsum_cons. cbn [fst snd]. split; [lia|]. split; [lia|].
      apply schwarz; auto; repeat (apply zsum_nonneg; intros); apply Z.square_nonneg.
Qed.

(* What slopes are worth for changes c of what is sent. *)
Definition worth (units : list Z) (s : list (Z * Z)) (c : Z -> Z) : Z :=
  zsum (combine units s) (fun p => snd (snd p) * pos (- c (fst p)) - fst (snd p) * pos (c (fst p))).

Lemma worth_padd units a b c : worth units (padd a b) c = worth units a c + worth units b c.
Proof.
  unfold worth. revert a b. induction units as [|u units IH]; intros [|x a] [|y b]; cbn [padd combine]; rewrite ?zsum_nil, ?zsum_cons; cbn [fst snd]; try lia.
  rewrite IH. lia.
Qed.

Lemma product_worth present units s (w : Z -> Z) :
  product present s (map w units) = worth units s (fun j => (if present then -1 else 1) * w j).
Proof.
  unfold worth. revert s. induction units as [|u units IH]; intros [|p s]; cbn [map product combine]; rewrite ?zsum_nil, ?zsum_cons; cbn [fst snd]; try reflexivity.
  rewrite IH. f_equal. unfold pos.
  destruct (Z.ltb_spec 0 (w u)); destruct present; rewrite ?Z.max_l, ?Z.max_r by lia; try lia;
    repeat match goal with |- context [Z.max ?a 0] => first [rewrite (Z.max_l a 0) by lia|rewrite (Z.max_r a 0) by lia] end; lia.
Qed.

Lemma worth_units units s c : worth (map place units) (map s units) c =
  zsum units (fun u => snd (s u) * pos (- c (place u)) - fst (s u) * pos (c (place u))).
Proof.
  unfold worth. induction units as [|u units IH]; [reflexivity|]. cbn [map combine]. rewrite !zsum_cons. cbn [fst snd]. rewrite IH. reflexivity.
Qed.

Lemma turn_spec a p c : snd (turn a p) * pos (- c) - fst (turn a p) * pos c = snd p * pos (- (a * c)) - fst p * pos (a * c).
Proof.
  unfold turn. destruct (Z.ltb_spec 0 a); cbn [fst snd].
  - assert (pos (a * c) = a * pos c) as -> by (unfold pos; nia). assert (pos (- (a * c)) = a * pos (- c)) as -> by (unfold pos; nia). ring.
  - assert (pos (a * c) = - a * pos (- c)) as -> by (unfold pos; nia). assert (pos (- (a * c)) = - a * pos c) as -> by (unfold pos; nia). ring.
Qed.

Lemma aligned_spec units places : aligned units places = true -> map place units = places.
Proof.
  revert places. induction units as [|u units IH]; intros [|j places]; cbn [aligned]; try discriminate; [reflexivity|].
  intros H. apply andb_prop in H as [H1 H2]. apply Z.eqb_eq in H1. cbn [map]. rewrite H1, (IH _ H2). reflexivity.
Qed.

Section Row.
  Variables (P : problem) (first : layer Z) (ready_width width : Z) (n d : Z).
  Let made := all_ready (count P) ready_width first.
  Let v := change (attributes P) n d.
  Let sent (t : term Z) (j : Z) := v * weight t d j.
  Variable items : list (list unit2 * list (ready * Z)).
  Hypothesis ALIGNED : forall it, In it items -> map place (fst it) = ids width.
  Hypothesis READY : forall it e, In it items -> In e (snd it) -> In (fst e) made.
  Hypothesis PROPER : forall it u, In it items -> In u (fst it) -> proper u.

  Let ws := map (fun t => map (weight (snd t) d) (ids width)) (numbered first).

  Lemma numbered_keys : NoDup (map fst (numbered first)).
  Proof.
    unfold numbered. assert (NoDup (ids (Z.of_nat (length (terms first))))) as N by apply ids_nodup. revert N.
    generalize (ids (Z.of_nat (length (terms first)))). generalize (terms first). intros ts u. revert ts.
    induction u as [|i u IH]; intros [|t ts] N; cbn [combine map]; try constructor; inversion N; subst; auto.
    intros C. apply in_map_iff in C as ([i' t'] & E & C). apply in_combine_l in C. cbn [fst] in E. subst. contradiction.
  Qed.

  (* Adding up by term changes nothing. *)
  Lemma products_parts s :
    products (attributes P n d) (all_slopes made s items) ws =
    zsum items (fun it => zsum (snd it) (fun e => zsum (fst it) (fun u =>
      let x := snd e * sent (source (fst e)) (place u) in snd (s (single it) u) * pos (- x) - fst (s (single it) u) * pos x))).
  Proof.
    unfold products, all_slopes, ws, made, all_ready. set (parts := flat_map (contributions s) items). rewrite map_map. cbn [number make_ready].
    transitivity (zsum (numbered first) (fun t => worth (ids width) (slopes_of parts (fst t)) (sent (snd t)))).
    { generalize (numbered first). intros l. induction l as [|t l IH]; [reflexivity|]. cbn [map combine]. rewrite !zsum_cons, IH. cbn [fst snd]. f_equal.
      apply product_worth. }
    transitivity (zsum parts (fun c => zsum (numbered first) (fun t => if Z.eqb (fst t) (fst c) then worth (ids width) (snd c) (sent (snd t)) else 0))).
    { rewrite zsum_swap. apply zsum_ext. intros t. clear. induction parts as [|c parts IH].
      - cbn. unfold worth. destruct (ids width); reflexivity.
      - cbn [slopes_of fold_right]. rewrite zsum_cons. fold (slopes_of parts (fst t)). rewrite (Z.eqb_sym (fst t)).
        destruct (Z.eqb (fst c) (fst t)); [rewrite worth_padd, IH|rewrite IH]; lia. }
    unfold parts. rewrite zsum_flat_map. apply zsum_ext_in. intros it Hit. unfold contributions. rewrite zsum_map. cbn [fst snd].
    apply zsum_ext_in. intros e He. pose proof (READY it e Hit He) as R. unfold made, all_ready in R. apply in_map_iff in R as ([q t] & <- & R).
    cbn [number source make_ready fst snd].
    rewrite (zsum_key (numbered first) q t (fun t => worth (ids width) _ (sent (snd t))) numbered_keys R). cbn [snd].
    rewrite <- (ALIGNED it Hit), map_map, worth_units. apply zsum_ext. intros u. cbn zeta. apply turn_spec.
  Qed.

  Lemma weights_sent grp j : v * weights grp j d = zsum grp (fun e => snd e * sent (source (fst e)) j).
  Proof. unfold weights, sent. rewrite <- zsum_scale. apply zsum_ext. intros. ring. Qed.

  Lemma line_plain (alone : bool) u (xs : list Z) : (alone = true -> (length xs <= 1)%nat) ->
    zsum xs (fun x => snd (plain alone u) * pos (- x) - fst (plain alone u) * pos x) =
    if straight alone u then fall u * pos (- zsum xs (fun x => x)) - rise u * pos (zsum xs (fun x => x)) else 0.
  Proof.
    intros L. unfold plain. destruct (straight alone u) eqn:E; cbn [fst snd].
    - unfold straight in E. apply orb_prop in E as [->|E].
      + specialize (L eq_refl). destruct xs as [|x [|]]; [rewrite !zsum_nil; cbn; lia| |cbn [length] in L; lia].
        rewrite !zsum_cons, !zsum_nil, !Z.add_0_r. reflexivity.
      + apply Z.eqb_eq in E. rewrite E. set (g := zsum xs (fun x => x)).
        replace (fall u * pos (- g) - fall u * pos g) with (- fall u * g) by (transitivity (- fall u * (pos g - pos (- g))); [f_equal; unfold pos; lia|ring]).
        unfold g. rewrite <- zsum_scale. apply zsum_ext. intros x. transitivity (- fall u * (pos x - pos (- x))); [ring|]. f_equal. unfold pos. lia.
    - apply zsum_zero. intros. lia.
  Qed.

  Lemma line_most (alone : bool) u (xs : list Z) f : (alone = true -> (length xs <= 1)%nat) -> proper u ->
    loss u f (zsum xs (fun x => x)) <= zsum xs (fun x => snd (most alone u) * pos (- x) - fst (most alone u) * pos x).
  Proof.
    intros L PR. set (g := zsum xs (fun x => x)). set (C := zsum (bent u) fst).
    assert (0 <= C) as C0 by (apply zsum_nonneg; intros b Hb; apply (PR b Hb)).
    assert (zsum (bent u) (fun b => fst b * charged (snd b) f g) <= C * pos g) as B.
    { unfold C. rewrite <- zsum_scale_r. apply zsum_le_in. intros b Hb. destruct (PR b Hb) as [P1 P2]. specialize (P2 f g). nia. }
    set (p := zsum xs pos). set (q := zsum xs (fun x => pos (- x))).
    assert (g = p - q) as G.
    { unfold g, p, q. replace (zsum xs pos - zsum xs (fun x => pos (- x))) with (zsum xs pos + zsum xs (fun x => - pos (- x))) by (rewrite zsum_opp; lia).
      rewrite <- zsum_plus. apply zsum_ext. intros x. unfold pos. lia. }
    assert (0 <= p) as P0 by (apply zsum_nonneg; intros; unfold pos; lia). assert (0 <= q) as Q0 by (apply zsum_nonneg; intros; unfold pos; lia).
    assert (zsum xs (fun x => snd (most alone u) * pos (- x) - fst (most alone u) * pos x) = snd (most alone u) * q - fst (most alone u) * p) as ->.
    { rewrite (zsum_ext xs _ (fun x => snd (most alone u) * pos (- x) + - fst (most alone u) * pos x)) by (intros; ring). rewrite zsum_plus, !zsum_scale. unfold p, q. ring. }
    unfold loss, most. fold C. cbn [fst snd]. assert (pos g = p - (q - pos (- g))) as PG by (unfold pos; lia). assert (0 <= q - pos (- g)) as D by (unfold pos; lia).
    set (e := q - pos (- g)) in *. assert (pos (- g) = q - e) as NG by (unfold e; lia).
    assert (C * pos g <= C * p) by (apply Z.mul_le_mono_nonneg_l; lia).
    assert (0 <= pos (- g)) as NN by (unfold pos; lia).
    unfold straight in *. destruct alone; cbn [orb].
    - specialize (L eq_refl).
      assert (e = 0). { unfold e, q, g. destruct xs as [|x [|]]; [reflexivity| |cbn [length] in L; lia]. rewrite !zsum_cons, !zsum_nil, !Z.add_0_r. lia. }
      rewrite PG, NG in *. nia.
    - destruct (Z.eqb_spec (rise u) (fall u)) as [E|E].
      + rewrite PG, NG in *. rewrite E. nia.
      + assert (fall u * pos (- g) <= Z.max (rise u) (fall u) * pos (- g)) by (apply Z.mul_le_mono_nonneg_r; lia).
        assert (0 <= (Z.max (rise u) (fall u) - rise u) * e) by (apply Z.mul_nonneg_nonneg; lia).
        rewrite PG, NG in *. nia.
  Qed.

  Lemma one_alone (it : list unit2 * list (ready * Z)) (f : ready * Z -> Z) : single it = true -> (length (map f (snd it)) <= 1)%nat.
  Proof. unfold single. rewrite map_length. destruct (snd it) as [|x [|]]; try discriminate; cbn [length]; lia. Qed.

  Lemma row_loss_plain : row_loss P n items d = products (attributes P n d) (all_slopes made plain items) ws + extra P (specials items) n d.
  Proof.
    rewrite products_parts. unfold extra, specials. rewrite zsum_filter, zsum_map. cbn [fst snd].
    rewrite (zsum_ext items (fun it => if match filter _ _ with [] => false | _ => true end then _ else 0)
      (fun it => zsum (fst it) (fun u => special_loss (single it) u (n, d) (v * weights (snd it) (place u) d)))).
    - rewrite <- zsum_plus. unfold row_loss. apply zsum_ext. intros it. rewrite zsum_swap, <- zsum_plus. apply zsum_ext. intros u. fold v.
      rewrite weights_sent. unfold special_loss, loss.
      pose proof (line_plain (single it) u (map (fun e => snd e * sent (source (fst e)) (place u)) (snd it)) (one_alone it _)) as LP.
      rewrite !zsum_map in LP. rewrite LP. destruct (straight (single it) u); lia.
    - intros it. transitivity (zsum (filter (special (single it)) (fst it)) (fun u => special_loss (single it) u (n, d) (v * weights (snd it) (place u) d))).
      + fold v. destruct (filter _ _); reflexivity.
      + rewrite zsum_filter. apply zsum_ext. intros u. unfold special. destruct (straight (single it) u) eqn:E; cbn [negb orb]; [|reflexivity].
        unfold special_loss. rewrite E. destruct (bent u); [rewrite zsum_nil|]; reflexivity.
  Qed.

  Lemma row_loss_most : row_loss P n items d <= products (attributes P n d) (all_slopes made most items) ws.
  Proof.
    rewrite products_parts. unfold row_loss. apply zsum_le_in. intros it Hit. rewrite zsum_swap. apply zsum_le_in. intros u Hu. fold v.
    rewrite weights_sent.
    pose proof (line_most (single it) u (map (fun e => snd e * sent (source (fst e)) (place u)) (snd it)) (n, d) (one_alone it _) (PROPER it u Hit Hu)) as LM.
    rewrite !zsum_map in LM. exact LM.
  Qed.
End Row.

Lemma row_excess_sound P first ready_width width h n items :
  inputs first = count P -> not_negative (price h) = true ->
  (forall it, In it items -> map place (fst it) = ids width) ->
  (forall it e, In it items -> In e (snd it) -> In (fst e) (all_ready (count P) ready_width first)) ->
  (forall it u, In it items -> In u (fst it) -> proper u) ->
  excess P (row_loss P n items) n (price_of (price h) n)
  <= row_excess P (all_ready (count P) ready_width first) h (attribute_rows (count P) width first) (n, items).
Proof.
  intros IN NN AL RE PR. unfold row_excess. destruct (Z.leb_spec (left P n) 0) as [L|L].
  - unfold excess. rewrite zsum_zero; [reflexivity|]. intros d _. unfold free. destruct (Z.ltb_spec 0 (left P n)); [lia|reflexivity].
  - unfold excess, attribute_rows. rewrite zsum_map. apply zsum_le_in. intros d _. cbn zeta. cbn [fst snd].
    pose proof (price_of_nonneg (price h) n NN) as NP.
    pose proof (row_loss_plain P first ready_width width n d items AL RE) as RP.
    pose proof (row_loss_most P first ready_width width n d items AL RE PR) as RM.
    cbn zeta in RP, RM.
    set (ws := map (fun t => map (weight (snd t) d) (ids width)) (numbered first)) in *.
    match goal with |- context [Z.leb ?a ?b] => destruct (Z.leb_spec a b) as [S|S] end.
    + assert (row_loss P n items d <= price_of (price h) n) as B.
      { destruct (specials items) as [|sp sps] eqn:ES.
        - rewrite RP. unfold extra. rewrite zsum_nil, Z.add_0_r. apply products_most; assumption.
        - etransitivity; [exact RM|]. apply products_most; assumption. }
      destruct (free P n d); unfold pos; lia.
    + rewrite RP. destruct (free P n d); lia.
Qed.

Section Largest.
  Variables (P : problem) (F : list flip) (first : layer Z) (ready_width width : Z) (h : hints).
  Hypothesis A : admissible P F.
  Hypothesis IN : inputs first = count P.
  Let made := all_ready (count P) ready_width first.
  Let X := attributes P.

  Lemma largest_loss_sound lines T : proper_lines lines ->
    largest_loss P made h (attribute_rows (count P) width first) width lines = Got T -> zsum F (total_loss P first lines) <= T.
  Proof.
    intros PL. unfold largest_loss. set (all := map _ lines). set (reached := group (near all)). set (more := far _ all).
    set (rows := match more with [] => reached | _ => _ end).
    destruct (forallb _ all && _ && _ && _ && _) eqn:E; [|discriminate]. intros [= <-].
    apply andb_prop in E as [E NN]. apply andb_prop in E as [E ASC]. apply andb_prop in E as [E ASR]. apply andb_prop in E as [EA EL].
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
        apply Z.eq_le_incl, zsum_ext. intros u. f_equal. rewrite <- (links_effect_spec first (count P) ready_width). fold made. fold X.
        apply links_effect_row; assumption.
      - rewrite (zsum_no_key (links made m) n (fun r => L n d (units, snd r)) NI), Z.add_0_l.
        assert (zsum units (fun u => loss u (n, d) (effect first (attributes P) m (place u) (n, d))) = L n d (units, [])) as EL0.
        { unfold L. cbn [fst snd]. apply zsum_ext. intros u. f_equal. rewrite <- (links_effect_spec first (count P) ready_width). fold made.
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
    etransitivity; [apply (selection P F (price h) (total_loss P first lines) (map fst rows) A NN)|].
    - intros n d _ NI. etransitivity; [apply TL|]. rewrite (zsum_no_key rows n (fun g => zsum (snd g) (L n d)) NI). apply price_of_nonneg. assumption.
    - apply Z.add_le_mono_l. rewrite zsum_map. apply zsum_le_in. intros [n items] Hr. cbn [fst].
      assert (forall it, In it items -> exists m, In (m, fst it) lines /\ (In (n, snd it) (links made m) \/ snd it = [])) as IT.
      { intros it Hit. pose proof (MEM n items it Hr Hit) as I. apply in_app_or in I as [I|I].
        - unfold near in I. apply in_flat_map in I as ([ls us] & I1 & I2). apply in_map_iff in I2 as ([n' grp] & Eq & I2).
          unfold all in I1. apply in_map_iff in I1 as ([m us'] & Eq' & I1). cbn [fst snd] in *. inversion Eq'; subst. inversion Eq; subst. exists m. auto.
        - unfold more, far in I. apply in_flat_map in I as ([ls us] & I1 & I2). destruct (existsb _ _); [|destruct I2].
          apply in_map_iff in I2 as (k & Eq & _). unfold all in I1. apply in_map_iff in I1 as ([m us'] & Eq' & I1). cbn [fst snd] in *.
          inversion Eq'; subst. inversion Eq; subst. exists m. auto. }
      etransitivity; [|apply (row_excess_sound P first ready_width width h n items IN NN)].
      + unfold excess. apply zsum_le_in. intros d _. destruct (free P n d); [|reflexivity].
        assert (total_loss P first lines (n, d) <= row_loss P n items d); [|unfold pos; lia].
        etransitivity; [apply TL|]. rewrite (zsum_key rows n items (fun g => zsum (snd g) (L n d)) ND Hr). reflexivity.
      + intros it Hit. destruct (IT it Hit) as (m & I1 & _). specialize (EL _ I1). cbn [snd] in EL. apply aligned_spec. assumption.
      + intros it [t a] Hit He. destruct (IT it Hit) as (m & _ & [I2|I2]); [apply (links_ready made m n (snd it) t a); assumption|]. rewrite I2 in He. destruct He.
      + intros it u Hit Hu. destruct (IT it Hit) as (m & I1 & _). apply (PL _ u I1 Hu).
  Qed.

  Theorem bound_sound sign whole net top o : ends net first ->
    obeys sign net (flipped X F) -> whole_holds whole net (flipped X F) ->
    match bound P sign whole made h (attribute_rows (count P) width first) net top width o with
    | Got b => b <= objective_value net (flipped X F) top o
    | Impossible => False
    | Failed => True
    end.
  Proof.
    intros E O W. pose proof (descend_sound P F sign whole first ready_width h A IN net top o E O W) as D. unfold bound. fold made in D.
    destruct (descend P sign whole made h net top o) as [[c lines]| |]; cbn [bind]; auto. destruct D as [D1 D2]. cbn [fst snd].
    destruct (largest_loss _ _ _ _ _ lines) as [T| |] eqn:EL; cbn [bind]; auto.
    - apply largest_loss_sound in EL; [|exact D1]. fold X in D2. lia.
    - unfold largest_loss in EL. destruct (_ && _) in EL; discriminate.
  Qed.
End Largest.

(* The slopes of a row: added up by term they are what its flips lose, and what norms or slopes rule out loses no more than its price. *)
From Coq Require Import ZArith List Bool Lia Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Units.
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

Lemma steepest_nonneg s : 0 <= steepest s.
Proof. apply zsum_nonneg. intros l _. apply zsum_nonneg. intros p _. apply Z.square_nonneg. Qed.

(* In small numbers no product is less. *)
Lemma upward_ge x c : 0 < c -> x <= c * upward x c.
Proof. intros C. unfold upward. pose proof (Z.mul_div_le (- x) c C). lia. Qed.

Lemma rough_above g k c C w f : 0 < g -> 0 < k -> c <= g * C -> 0 <= w -> k * f <= w < k * f + k -> c * w <= g * k * (C * f + Z.max C 0).
Proof.
  intros G K HC W B. apply Z.le_trans with (g * C * w); [apply Z.mul_le_mono_nonneg_r; assumption|].
  destruct (Z_le_gt_dec 0 C).
  - rewrite Z.max_l by lia. apply Z.le_trans with (g * C * (k * f + k)); [apply Z.mul_le_mono_nonneg_l; nia|]. apply Z.eq_le_incl. ring.
  - rewrite Z.max_r by lia. apply Z.le_trans with (g * C * (k * f)); [apply Z.mul_le_mono_nonpos_l; nia|]. apply Z.eq_le_incl. ring.
Qed.

Lemma rough_below g k c C w f : 0 < g -> 0 < k -> c <= g * C -> w <= 0 -> k * f <= w < k * f + k -> c * - w <= g * k * (Z.max (- C) 0 - C * f).
Proof.
  intros G K HC W B. apply Z.le_trans with (g * C * - w); [apply Z.mul_le_mono_nonneg_r; lia|].
  destruct (Z_le_gt_dec 0 C).
  - rewrite Z.max_r by lia. apply Z.le_trans with (g * C * - (k * f)); [apply Z.mul_le_mono_nonneg_l; nia|]. apply Z.eq_le_incl. ring.
  - rewrite Z.max_l by lia. apply Z.le_trans with (g * C * - (k * f + k)); [apply Z.mul_le_mono_nonpos_l; nia|]. apply Z.eq_le_incl. ring.
Qed.

Lemma product_rough (present : bool) g k s ws : 0 < g -> 0 < k ->
  product present s ws <= g * k * rough_product
    (map (fun p => if present then (upward (snd p) g, upward (- fst p) g) else (upward (- fst p) g, upward (snd p) g)) s) (map (fun w => w / k) ws).
Proof.
  intros G K. revert ws. induction s as [|p s IH]; intros [|w ws]; cbn [product map rough_product]; rewrite ?Z.mul_0_r; try lia.
  rewrite Z.mul_add_distr_l. apply Z.add_le_mono; [|apply IH]. clear IH.
  pose proof (upward_ge (- fst p) g G) as HA. pose proof (upward_ge (snd p) g G) as HB.
  assert (k * (w / k) <= w < k * (w / k) + k) as B by (pose proof (Z.div_mod w k ltac:(lia)); pose proof (Z.mod_pos_bound w k K); lia).
  set (f := w / k) in *. destruct (Z.ltb_spec 0 w) as [P|P].
  - destruct (Z.leb_spec 0 f) as [F|F]; [|nia]. destruct present; cbn [fst snd]; [|rewrite <- Z.mul_opp_l]; apply rough_above; try assumption; lia.
  - destruct (Z.leb_spec 0 f) as [F|F].
    + assert (w = 0) as -> by nia. assert (f = 0) as -> by nia. destruct present; cbn [fst snd]; rewrite !Z.mul_0_r, Z.add_0_l; apply Z.mul_nonneg_nonneg; lia.
    + destruct present; cbn [fst snd].
      * replace (fst p * w) with (- fst p * - w) by ring. apply rough_below; assumption.
      * replace (- (snd p * w)) with (snd p * - w) by ring. apply rough_below; assumption.
Qed.

Lemma rough_bound_sound k s present ws : 0 < k -> products present s ws <= rough_bound (Delay (screen_of k s)) present (map (map (fun w => w / k)) ws).
Proof.
  intros K. unfold rough_bound, screen_of. cbn [force step of_absent of_present]. set (g := small _).
  assert (0 < g) as G by (unfold g, small; lia). clearbody g. unfold products.
  match goal with |- context [combine ?l _] => match l with if present then _ else _ =>
    replace l with (map (map (fun p => if present then (upward (snd p) g, upward (- fst p) g) else (upward (- fst p) g, upward (snd p) g))) s) end end.
  2: { destruct present; [|reflexivity]. rewrite map_map. apply map_ext. intros l. rewrite map_map. reflexivity. }
  rewrite <- zsum_scale. revert ws. induction s as [|l s IH]; intros [|w ws]; cbn [map combine]; rewrite ?zsum_nil, ?zsum_cons; try lia.
  apply Z.add_le_mono; [|apply IH]. cbn [fst snd]. apply product_rough; assumption.
Qed.

Lemma ruled_out_sound k s present ws p : 0 < k -> ruled_out (Delay (screen_of k s)) present (map (map (fun w => w / k)) ws) p = true -> products present s ws <= p.
Proof. intros K H. apply Z.leb_le in H. etransitivity; [|exact H]. apply rough_bound_sound. exact K. Qed.

Lemma falling_most rows d ws : In (d, ws) rows -> squares ws <= first_square (falling rows).
Proof.
  induction rows as [|[d' ws'] rows IH]; [intros []|]. cbn [falling first_square snd]. intros [E|I]; [inversion E; subst; lia|]. specialize (IH I). lia.
Qed.

Lemma sift_sound stop size width l (f : Z -> list (list Z) -> Z) (x : Z -> Z) :
  (forall d, let ws := map (fun t => map (weight (snd t) d) (ids width)) (numbered l) in
    x d <= f d ws /\ forall square, squares ws <= square -> stop square = true -> x d <= 0) ->
  zsum (ids size) x <= zsum (sift stop (attribute_rows size width l) f) (fun x => x).
Proof.
  intros H. unfold attribute_rows. set (ws := fun d => map (fun t => map (weight (snd t) d) (ids width)) (numbered l)).
  set (keyed := map _ (ids size)).
  assert (forall r, In r (map snd (sort keyed)) -> snd r = ws (fst r)) as R.
  { intros r I. apply in_map_iff in I as (k & <- & I). apply (Permutation_in _ (sort_perm keyed)) in I. unfold keyed in I. apply in_map_iff in I as (d & <- & _). reflexivity. }
  transitivity (zsum (map snd (sort keyed)) (fun r => x (fst r))).
  { rewrite zsum_map, (zsum_perm _ _ _ (sort_perm keyed)). unfold keyed. rewrite zsum_map. reflexivity. }
  revert R. generalize (map snd (sort keyed)). clear keyed. intros rows. induction rows as [|[d r] rows IH]; intros R; [reflexivity|].
  cbn [falling sift]. assert (r = ws d) as -> by (apply (R (d, r)); left; reflexivity).
  set (square := Z.max _ _). destruct (stop square) eqn:L.
  - apply Z.le_trans with (zsum ((d, ws d) :: rows) (fun _ => 0)); [|rewrite zsum_zero; [rewrite zsum_nil; lia|reflexivity]]. apply zsum_le_in. intros [d' r'] I.
    cbn [fst]. apply (proj2 (H d') square); [|exact L]. assert (r' = ws d') as E by (destruct I as [I|I]; [inversion I; reflexivity|apply (R (d', r')); right; assumption]).
    fold (ws d'). rewrite <- E. exact (falling_most ((d, ws d) :: rows) d' r' I).
  - rewrite !zsum_cons. cbn [fst]. specialize (IH (fun r I => R r (or_intror I))). pose proof (proj1 (H d)) as H1. fold (ws d) in H1. lia.
Qed.

Lemma scan_sound steep within size width l (f : Z -> list (list Z) -> Z) (x : Z -> Z) : 0 <= steep -> 0 <= within ->
  (forall d, let ws := map (fun t => map (weight (snd t) d) (ids width)) (numbered l) in x d <= f d ws /\ (steep * squares ws <= within -> x d <= 0)) ->
  zsum (ids size) x <= scan steep within (attribute_rows size width l) f.
Proof.
  intros S N H. unfold scan. destruct (Z.leb_spec steep 0) as [S0|S0].
  - apply Z.le_trans with (zsum (ids size) (fun _ => 0)); [|rewrite zsum_zero; [lia|reflexivity]]. apply zsum_le_in. intros d _. apply (proj2 (H d)).
    assert (steep = 0) as -> by lia. lia.
  - apply sift_sound. intros d. cbn zeta. destruct (H d) as [H1 H2]. split; [exact H1|]. intros square L E. apply Z.leb_le in E. apply H2.
    pose proof (Z.mul_div_le within steep S0). nia.
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

Lemma sifted_sound P first ready_width width k rough n p items (amount : Z -> list (list Z) -> Z) (x : Z -> Z) :
  inputs first = count P -> 0 <= p -> 0 < k ->
  (forall d, rough d = map (map (fun w => w / k)) (map (fun t => map (weight (snd t) d) (ids width)) (numbered first))) ->
  (forall it, In it items -> map place (fst it) = ids width) ->
  (forall it e, In it items -> In e (snd it) -> In (fst e) (all_ready (count P) ready_width first)) ->
  (forall it u, In it items -> In u (fst it) -> proper u) ->
  (forall d, x d <= row_loss P n items d \/ x d <= 0) ->
  (forall d, x d <= Z.max (amount d (map (fun t => map (weight (snd t) d) (ids width)) (numbered first))) 0) ->
  excess P x n p <= sifted P (all_ready (count P) ready_width first) (attribute_rows (count P) width first) k rough n p items amount.
Proof.
  intros IN NP K ROUGH AL RE PR MOST EQ. unfold sifted. destruct (Z.leb_spec (left P n) 0) as [L|L].
  - unfold excess. rewrite zsum_zero; [reflexivity|]. intros d _. unfold free. destruct (Z.ltb_spec 0 (left P n)); [lia|reflexivity].
  - unfold excess. apply scan_sound; [apply steepest_nonneg|apply Z.square_nonneg|]. intros d. cbn zeta. rewrite ROUGH.
    pose proof (row_loss_most P first ready_width width n d items AL RE PR) as RM. cbn zeta in RM.
    specialize (MOST d). specialize (EQ d). set (ws := map (fun t => map (weight (snd t) d) (ids width)) (numbered first)) in *. split.
    + destruct (free P n d); cbn [andb]; [|lia]. destruct (ruled_out _ _ _ _) eqn:RO; cbn [orb negb].
      * apply (ruled_out_sound k _ _ _ _ K) in RO. unfold pos. lia.
      * match goal with |- context [Z.leb ?a ?b] => destruct (Z.leb_spec a b) as [S2|S2] end; cbn [negb]; unfold pos; lia.
    + intros S. assert (x d <= p) as B.
      { destruct MOST as [M|M]; [|lia]. etransitivity; [exact M|]. etransitivity; [exact RM|]. apply products_most; assumption. }
      destruct (free P n d); unfold pos; lia.
Qed.

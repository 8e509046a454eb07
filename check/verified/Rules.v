(* The inequalities behind the rules: selection by prices, lines over a rectangle, lines over an interval. They hold for any hints. *)
From Coq Require Import ZArith List Bool Lia Psatz.
From Verified Require Import Spec Sums.
Import ListNotations.
Open Scope Z_scope.

(* Rule 1: prices for every flip and for the flips of some nodes. *)
Record prices := { every : Z; nodes : list (Z * Z) }.

Definition price_of (p : prices) (n : Z) : Z := every p + zsum (nodes p) (fun e => if Z.eqb (fst e) n then snd e else 0).
Definition not_negative (p : prices) : bool := Z.leb 0 (every p) && forallb (fun e => Z.leb 0 (snd e)) (nodes p).
Definition paid (P : problem) (p : prices) : Z :=
  total P * every p + zsum (nodes p) (fun e => pos (Z.min (each P (fst e)) (total P)) * snd e).

Lemma not_negative_spec p : not_negative p = true -> 0 <= every p /\ forall e, In e (nodes p) -> 0 <= snd e.
Proof.
  unfold not_negative. rewrite andb_true_iff, forallb_forall, Z.leb_le. intros [H1 H2]. split; auto.
  intros e He. apply Z.leb_le. auto.
Qed.

Lemma price_of_nonneg p n : not_negative p = true -> 0 <= price_of p n.
Proof.
  intros H. apply not_negative_spec in H as [H1 H2]. unfold price_of.
  assert (0 <= zsum (nodes p) (fun e => if Z.eqb (fst e) n then snd e else 0)); [|lia].
  apply zsum_nonneg. intros e He. destruct (Z.eqb (fst e) n); auto. lia.
Qed.

Lemma size_sum {A} (F : list A) : Z.of_nat (length F) = zsum F (fun _ => 1).
Proof. induction F; [reflexivity|]. rewrite zsum_cons, <- IHF. cbn [length]. lia. Qed.

Lemma size_of_node n F : size (of_node n F) = zsum F (fun f => if Z.eqb (fst f) n then 1 else 0).
Proof. unfold size, of_node. rewrite size_sum, zsum_filter. reflexivity. Qed.

Lemma size_of_node_le n F : size (of_node n F) <= size F.
Proof.
  rewrite size_of_node. unfold size. rewrite size_sum. apply zsum_le_in. intros f _. destruct (Z.eqb (fst f) n); lia.
Qed.

Lemma sum_of_prices P F p : admissible P F -> not_negative p = true -> zsum F (fun f => price_of p (fst f)) <= paid P p.
Proof.
  intros (_ & _ & Q & q) NN. apply not_negative_spec in NN as [H1 H2]. unfold price_of, paid. rewrite zsum_plus.
  replace (zsum F (fun _ => every p)) with (size F * every p)
    by (unfold size; rewrite size_sum, <- zsum_scale_r; apply zsum_ext; intros; lia).
  rewrite zsum_swap.
  assert (zsum (nodes p) (fun e => zsum F (fun f => if Z.eqb (fst e) (fst f) then snd e else 0))
          <= zsum (nodes p) (fun e => pos (Z.min (each P (fst e)) (total P)) * snd e)); [|nia].
  apply zsum_le_in. intros e He. specialize (H2 e He).
  rewrite (zsum_ext F _ (fun f => (if Z.eqb (fst f) (fst e) then 1 else 0) * snd e)).
  - rewrite zsum_scale_r, <- size_of_node. pose proof (size_of_node_le (fst e) F).
    assert (size (of_node (fst e) F) <= pos (Z.min (each P (fst e)) (total P))); [|nia].
    destruct (of_node (fst e) F) as [|f r] eqn:E; [unfold size, pos; cbn; lia|].
    assert (In f (of_node (fst e) F)) as I by (rewrite E; left; reflexivity). unfold of_node in I. apply filter_In in I as [I1 I2].
    apply Z.eqb_eq in I2. specialize (q f I1). rewrite I2, E in q. rewrite <- E in *. unfold pos. lia.
  - intros f. rewrite (Z.eqb_sym (fst e)). destruct (Z.eqb (fst f) (fst e)); lia.
Qed.

(* What is left for a node, and which of its flips are free. *)
Definition left (P : problem) (n : Z) : Z := Z.min (each P n) (total P).
Definition free (P : problem) (n d : Z) : bool := Z.ltb 0 (left P n) && permitted P n d.

Lemma made_is_free P F f : admissible P F -> In f F -> free P (fst f) (snd f) = true /\ 0 <= snd f < count P.
Proof.
  intros (_ & PF & Q & q) Hf. destruct (PF f Hf) as [H1 H2]. split; auto. unfold free, left. rewrite H1, andb_true_r.
  apply Z.ltb_lt. specialize (q f Hf). pose proof (size_of_node_le (fst f) F).
  assert (0 < size (of_node (fst f) F)); [|lia]. rewrite size_of_node.
  assert (1 <= zsum F (fun g => if Z.eqb (fst g) (fst f) then 1 else 0)); [|lia].
  etransitivity; [|apply (zsum_mem _ _ f Hf)]; cbn beta; [rewrite Z.eqb_refl; lia|].
  intros b _. destruct (Z.eqb (fst b) (fst f)); lia.
Qed.

(* The amounts of a row above its price. *)
Definition excess (P : problem) (x : Z -> Z) (n price : Z) : Z :=
  zsum (ids (count P)) (fun d => if free P n d then pos (x d - price) else 0).

Lemma selection P F p (x : flip -> Z) (rows : list Z) :
  admissible P F -> not_negative p = true ->
  (forall n d, In (n, d) F -> ~ In n rows -> x (n, d) <= price_of p n) ->
  zsum F x <= paid P p + zsum rows (fun n => excess P (fun d => x (n, d)) n (price_of p n)).
Proof.
  intros A NN H. pose proof (sum_of_prices P F p A NN) as S.
  set (over := fun f : flip => if existsb (Z.eqb (fst f)) rows then pos (x f - price_of p (fst f)) else 0).
  assert (zsum F x <= zsum F (fun f => price_of p (fst f)) + zsum F over) as B.
  { rewrite <- zsum_plus. apply zsum_le_in. intros [n d] Hf. unfold over, pos. cbn [fst].
    destruct (existsb (Z.eqb n) rows) eqn:E; [lia|]. specialize (H n d Hf).
    assert (~ In n rows) as NI; [|specialize (H NI); lia]. intros C. assert (existsb (Z.eqb n) rows = true); [|congruence].
    apply existsb_exists. exists n. rewrite Z.eqb_refl. auto. }
  assert (zsum F over <= zsum rows (fun n => excess P (fun d => x (n, d)) n (price_of p n))); [|lia].
  set (all := flat_map (fun n => map (fun d => (n, d)) (ids (count P))) rows).
  set (amount := fun f : flip => if free P (fst f) (snd f) then pos (x f - price_of p (fst f)) else 0).
  replace (zsum rows _) with (zsum all amount)
    by (unfold all; rewrite zsum_flat_map; apply zsum_ext; intros n; rewrite zsum_map; reflexivity).
  assert (forall f, In f F -> free P (fst f) (snd f) = true /\ 0 <= snd f < count P) as PF
    by (intros f Hf; apply (made_is_free P F); assumption).
  destruct A as (ND & _).
  set (inside := filter (fun f : flip => existsb (Z.eqb (fst f)) rows) F).
  assert (zsum F over = zsum inside amount) as ->.
  { unfold inside. rewrite zsum_filter. apply zsum_ext_in. intros f Hf. unfold over, amount.
    destruct (PF f Hf) as [-> _]. reflexivity. }
  apply zsum_incl.
  - apply NoDup_filter. assumption.
  - intros [n d] Hf. unfold inside in Hf. apply filter_In in Hf as [Hf E]. apply existsb_exists in E as (n' & Hn & E).
    apply Z.eqb_eq in E. cbn [fst] in E. subst n'. apply in_flat_map. exists n. split; auto. apply in_map.
    apply ids_in. exact (proj2 (PF _ Hf)).
  - intros f _. unfold amount, pos. destruct (free P (fst f) (snd f)); lia.
Qed.

(* Rule 4 at layer 2: k relu(z + u - v) - rise u + fall v over [0,U] x [0,V]. *)
Definition value (k z rise fall : Z) (p : Z * Z) : Z := k * pos (z + fst p - snd p) - rise * fst p + fall * snd p.
Definition candidates (z U V : Z) : list (Z * Z) := [(0, 0); (U, 0); (0, V); (U, V); (0, z); (-z, 0); (U, z + U); (V - z, V)].
Definition inside (U V : Z) (p : Z * Z) : bool := Z.leb 0 (fst p) && Z.leb (fst p) U && Z.leb 0 (snd p) && Z.leb (snd p) V.
Definition counts (side : option bool) (x : Z) : bool :=
  match side with None => true | Some true => Z.leb 0 x | Some false => Z.leb x 0 end.
Definition points (z U V : Z) (side : option bool) : list (Z * Z) :=
  filter (fun p => inside U V p && counts side (z + fst p - snd p)) (candidates z U V).

Fixpoint lowest (l : list Z) : option Z :=
  match l with
  | [] => None
  | x :: rest => match lowest rest with Some y => Some (Z.min x y) | None => Some x end
  end.
Definition least (k z rise fall U V : Z) (side : option bool) : option Z :=
  lowest (map (value k z rise fall) (points z U V side)).

Lemma lowest_le l x : In x l -> exists y, lowest l = Some y /\ y <= x.
Proof.
  induction l as [|a l IH]; [intros []|]. intros [E|H]; cbn [lowest].
  - subst. destruct (lowest l); eexists; split; eauto; lia.
  - destruct (IH H) as (y & -> & L). eexists. split; eauto. lia.
Qed.

(* A linear function over the part of the rectangle with z + u - v >= 0 is least at a candidate. *)
Lemma polygon a b z U V u v : 0 <= u <= U -> 0 <= v <= V -> 0 <= z + u - v ->
  exists p, In p (candidates z U V) /\ 0 <= fst p <= U /\ 0 <= snd p <= V /\ 0 <= z + fst p - snd p /\ a * fst p + b * snd p <= a * u + b * v.
Proof.
  intros Hu Hv Hz. unfold candidates.
  assert (forall x y, a * x + b * y <= a * u + b * v -> 0 <= x <= U -> 0 <= y <= V -> 0 <= z + x - y ->
    In (x, y) (candidates z U V) -> exists p, In p (candidates z U V) /\ 0 <= fst p <= U /\ 0 <= snd p <= V /\ 0 <= z + fst p - snd p /\ a * fst p + b * snd p <= a * u + b * v) as K.
  { intros x y L1 L2 L3 L4 I. exists (x, y). cbn [fst snd]. auto. }
  unfold candidates in K. cbn [In] in K.
  destruct (Z_le_gt_dec a 0) as [Ha|Ha].
  - assert (a * U <= a * u) by nia. destruct (Z_le_gt_dec 0 b) as [Hb|Hb].
    + apply (K U 0); [nia|lia|lia|lia|tauto].
    + destruct (Z_le_gt_dec V (z + U)).
      * apply (K U V); [nia|lia|lia|lia|tauto].
      * apply (K U (z + U)); [nia|lia|lia|lia|tauto].
  - destruct (Z_le_gt_dec v z) as [Hvz|Hvz].
    + assert (0 <= a * u) by nia. destruct (Z_le_gt_dec 0 b) as [Hb|Hb].
      * apply (K 0 0); [nia|lia|lia|lia|tauto].
      * destruct (Z_le_gt_dec V z).
        -- apply (K 0 V); [nia|lia|lia|lia|tauto].
        -- apply (K 0 z); [nia|lia|lia|lia|tauto].
    + assert (a * (v - z) <= a * u) by nia. destruct (Z_le_gt_dec 0 (a + b)) as [Hb|Hb].
      * destruct (Z_le_gt_dec 0 z).
        -- apply (K 0 z); [nia|lia|lia|lia|tauto].
        -- apply (K (-z) 0); [nia|lia|lia|lia|tauto].
      * destruct (Z_le_gt_dec V (z + U)).
        -- apply (K (V - z) V); [nia|lia|lia|lia|tauto].
        -- apply (K U (z + U)); [nia|lia|lia|lia|tauto].
Qed.

Lemma least_point k z rise fall U V side u v : 0 <= u <= U -> 0 <= v <= V -> counts side (z + u - v) = true ->
  exists p, In p (points z U V side) /\ value k z rise fall p <= value k z rise fall (u, v).
Proof.
  intros Hu Hv Hs. unfold points.
  assert (forall p, In p (candidates z U V) -> 0 <= fst p <= U -> 0 <= snd p <= V -> counts side (z + fst p - snd p) = true ->
    In p (filter (fun p => inside U V p && counts side (z + fst p - snd p)) (candidates z U V))) as K.
  { intros p H1 H2 H3 H4. apply filter_In. split; auto. rewrite H4. unfold inside. rewrite !andb_true_iff, !Z.leb_le. lia. }
  destruct (Z_le_gt_dec 0 (z + u - v)) as [H|H].
  - destruct (polygon (k - rise) (fall - k) z U V u v Hu Hv H) as (p & P1 & P2 & P3 & P4 & P5).
    destruct (counts side (z + fst p - snd p)) eqn:E.
    + exists p. split; [auto|]. unfold value, pos. cbn [fst snd]. rewrite !Z.max_l by lia. nia.
    + destruct side as [[|]|]; cbn [counts] in *; try discriminate; [apply Z.leb_gt in E; lia|].
      (* z <= 0 is required, and z + u - v = 0 here: look at it from the other side. *)
      apply Z.leb_le in Hs. assert (- z + v - u = 0) as Z0 by lia.
      destruct (polygon fall (- rise) (- z) V U v u Hv Hu) as ([p1 p2] & R1 & R2 & R3 & R4 & R5); [lia|]. cbn [fst snd] in *.
      exists (p2, p1). cbn [fst snd]. split.
      * apply K; cbn [fst snd counts]; [|lia|lia|apply Z.leb_le; lia].
        unfold candidates in *. cbn [In] in *. repeat destruct R1 as [R1|R1]; try contradiction; inversion R1; subst;
          rewrite ?Z.opp_involutive; repeat (try (left; f_equal; lia); right); contradiction.
      * unfold value, pos. cbn [fst snd]. rewrite !Z.max_r by lia. nia.
  - destruct (polygon fall (- rise) (- z) V U v u Hv Hu) as ([p1 p2] & R1 & R2 & R3 & R4 & R5); [lia|]. cbn [fst snd] in *.
    assert (counts side (z + p2 - p1) = true) as E.
    { destruct side as [[|]|]; cbn [counts] in *; auto; [apply Z.leb_le in Hs; lia|apply Z.leb_le; lia]. }
    exists (p2, p1). cbn [fst snd]. split.
    + apply K; cbn [fst snd]; [|lia|lia|exact E].
      unfold candidates in *. cbn [In] in *. repeat destruct R1 as [R1|R1]; try contradiction; inversion R1; subst;
        rewrite ?Z.opp_involutive; repeat (try (left; f_equal; lia); right); contradiction.
    + unfold value, pos. cbn [fst snd]. rewrite !Z.max_r by lia. nia.
Qed.

Lemma least_sound k z rise fall U V side u v : 0 <= u <= U -> 0 <= v <= V -> counts side (z + u - v) = true ->
  exists base, least k z rise fall U V side = Some base /\ base + rise * u - fall * v <= k * pos (z + u - v).
Proof.
  intros Hu Hv Hs. destruct (least_point k z rise fall U V side u v Hu Hv Hs) as (p & H1 & H2).
  unfold least. destruct (lowest_le (map (value k z rise fall) (points z U V side)) (value k z rise fall p)) as (y & -> & L).
  - apply in_map. assumption.
  - exists y. split; auto. unfold value at 2 in H2. cbn [fst snd] in H2. lia.
Qed.

(* Rule 4 above layer 2: k relu(x) - s x over [R, S]. *)
Definition intercept (k s R S : Z) : Z :=
  let at_ x := k * pos x - s * x in
  let ends := Z.min (at_ R) (at_ S) in
  if Z.ltb R 0 && Z.ltb 0 S then Z.min ends 0 else ends.

Lemma between c l x h : l <= x <= h -> Z.min (c * l) (c * h) <= c * x.
Proof.
  intros H. destruct (Z_le_gt_dec 0 c).
  - assert (c * l <= c * x) by nia. lia.
  - assert (c * h <= c * x) by nia. lia.
Qed.

Lemma intercept_sound k s R S x : R <= x <= S -> intercept k s R S + s * x <= k * pos x.
Proof.
  intros H. unfold intercept, pos.
  destruct (Z_le_gt_dec 0 x) as [Hx|Hx].
  - pose proof (between (k - s) R x S H). pose proof (between (k - s) 0 x S ltac:(lia)).
    rewrite (Z.max_l x), (Z.max_l S) by lia.
    destruct (Z.ltb_spec R 0); [rewrite (Z.max_r R) by lia|rewrite (Z.max_l R) by lia]; destruct (Z.ltb_spec 0 S); cbn [andb]; try nia.
  - pose proof (between (- s) R x S H). pose proof (between (- s) R x 0 ltac:(lia)).
    rewrite (Z.max_r x), (Z.max_r R) by lia.
    destruct (Z.ltb_spec R 0); [|lia]. destruct (Z.ltb_spec 0 S); cbn [andb]; [lia|].
    rewrite (Z.max_r S) by lia. lia.
Qed.

(* Rule 5: what stands above the amounts u_i, v_i bounds relu. *)
Lemma bend_sound {A} (F : list A) z (g u v : A -> Z) Su Sv :
  zsum F u <= Su -> zsum F v <= Sv ->
  pos (z + zsum F g) <= Z.max (z + Su) Sv + zsum F (fun i => Z.max (g i - u i) (- v i)).
Proof.
  intros Hu Hv.
  assert (zsum F g - zsum F u <= zsum F (fun i => Z.max (g i - u i) (- v i))) as H1.
  { replace (zsum F g - zsum F u) with (zsum F (fun i => g i + - u i)) by (rewrite zsum_plus, zsum_opp; lia).
    apply zsum_le_in. intros. lia. }
  assert (- zsum F v <= zsum F (fun i => Z.max (g i - u i) (- v i))) as H2.
  { rewrite <- zsum_opp. apply zsum_le_in. intros. lia. }
  unfold pos. lia.
Qed.

(* Rule 5': the same above a unit that is only known to be at most B and what flips add to it, all times c. *)
Lemma nested_bend_sound {A} (F : list A) c x B (G u v : A -> Z) Su Sv :
  0 <= c -> c * x <= B + zsum F G -> zsum F u <= Su -> zsum F v <= Sv ->
  c * pos x <= Z.max (B + Su) Sv + zsum F (fun i => Z.max (G i - u i) (- v i)).
Proof.
  intros C H Hu Hv. apply Z.le_trans with (pos (B + zsum F G)); [|apply bend_sound; assumption].
  unfold pos at 1. destruct (Z_le_gt_dec 0 x); [rewrite Z.max_l by lia|rewrite Z.max_r by lia]; unfold pos; lia.
Qed.

(* What removals can do to a number is what is carried with it. *)
From Coq Require Import ZArith List Bool Lia Permutation Sorted.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Trees Sound Edges EdgesBound EdgesSound.
Import ListNotations.
Open Scope Z_scope.

Lemma minimum_le {A} (l : list A) f a : In a l -> minimum l f <= f a.
Proof.
  destruct l as [|b l]; [intros []|]. cbn [minimum]. intros I. revert a I. induction l as [|c l IH]; intros a I; cbn [fold_right].
  - destruct I as [->|[]]. lia.
  - destruct I as [->|[->|I]]; [specialize (IH a (or_introl eq_refl)); lia|lia|specialize (IH a (or_intror I)); lia].
Qed.

Lemma low_product_le d (range : ends) x : force (fst range) <= x <= force (snd range) -> low_product d range <= d * x.
Proof. intros H. unfold low_product. destruct (Z.eqb_spec d 0); [subst; lia|]. destruct (Z.leb_spec 0 d); nia. Qed.

Lemma up_to_in k r : In r (up_to k) <-> 1 <= r <= k.
Proof.
  unfold up_to. rewrite in_map_iff. split.
  - intros (x & <- & I). apply ids_in in I. lia.
  - intros H. exists (r - 1). split; [lia|]. apply ids_in. lia.
Qed.

Lemma divided_le a r : 0 < r -> r * (a / r) <= a.
Proof. intros H. apply Z.mul_div_le. exact H. Qed.

Lemma nth_ids {A} (f : Z -> A) w j d : 0 <= j < w -> nth (Z.to_nat j) (map f (ids w)) d = f j.
Proof.
  unfold ids. intros H. assert (forall c from k, (k < c)%nat -> nth k (map f (counting from c)) d = f (from + Z.of_nat k)) as K.
  { induction c as [|c IH]; intros from k L; [lia|]. destruct k as [|k]; cbn [counting map nth]; [f_equal; lia|]. rewrite IH by lia. f_equal. lia. }
  rewrite K by lia. f_equal. lia.
Qed.

Lemma combine_maps {A B C} (f : A -> B) (h : A -> C) l : combine (map f l) (map h l) = map (fun x => (f x, h x)) l.
Proof. induction l as [|a l IH]; [reflexivity|]. cbn [map combine]. rewrite IH. reflexivity. Qed.

Lemma combine_self {A B} (f : A -> B) l : combine (map f l) l = map (fun x => (f x, x)) l.
Proof. induction l as [|a l IH]; [reflexivity|]. cbn [map combine]. rewrite IH. reflexivity. Qed.

(* Sums over removals. *)
Definition rising (a : sparse) : Prop := StronglySorted Z.lt (map fst a).

Lemma rising_cons e a : rising (e :: a) <-> rising a /\ forall d, In d a -> fst e < fst d.
Proof.
  unfold rising. cbn [map]. split.
  - intros H. inversion H as [|x y S F]; subst. split; [exact S|]. intros d I. rewrite Forall_forall in F. apply F. apply in_map. exact I.
  - intros [S F]. constructor; [exact S|]. apply Forall_forall. intros x X. apply in_map_iff in X as (d & <- & I). apply F. exact I.
Qed.

Lemma rising_nil : rising [].
Proof. constructor. Qed.

Lemma rising_nodup a : rising a -> NoDup (map fst a).
Proof.
  induction a as [|e a IH]; intros H; cbn [map]; [constructor|]. apply rising_cons in H as [S F]. constructor; [|apply IH; exact S].
  intros I. apply in_map_iff in I as (d & Q & I). specialize (F d I). lia.
Qed.

Lemma rising_smap f a : rising a -> rising (smap f a).
Proof. unfold rising, smap. rewrite map_map. intros H. exact H. Qed.

Lemma rising_filter f a : rising a -> rising (filter f a).
Proof.
  induction a as [|e a IH]; intros H; [exact H|]. apply rising_cons in H as [S F]. cbn [filter]. destruct (f e); [|apply IH; exact S].
  apply rising_cons. split; [apply IH; exact S|]. intros d I. apply filter_In in I as [I _]. apply F. exact I.
Qed.

Lemma sadd_cons d a e b : sadd (d :: a) (e :: b) =
  if Z.ltb (fst d) (fst e) then d :: sadd a (e :: b) else if Z.eqb (fst d) (fst e) then (fst d, snd d + snd e) :: sadd a b else e :: sadd (d :: a) b.
Proof. reflexivity. Qed.

Lemma sadd_key a : forall b k, (exists e, In e (sadd a b) /\ fst e = k) -> (exists e, In e a /\ fst e = k) \/ (exists e, In e b /\ fst e = k).
Proof.
  induction a as [|d a IHa]; [intros b k H; right; exact H|]. induction b as [|e b IHb]; intros k H; [left; exact H|]. rewrite sadd_cons in H.
  destruct (Z.ltb (fst d) (fst e)); [|destruct (Z.eqb_spec (fst d) (fst e)) as [Q|]].
  - destruct H as (x & [<-|X] & <-); [left; exists d; split; [left|]; reflexivity|].
    destruct (IHa (e :: b) (fst x) (ex_intro _ x (conj X eq_refl))) as [(y & Y1 & Y2)|H]; [left; exists y; split; [right|]; assumption|right; exact H].
  - destruct H as (x & [<-|X] & <-); [left; exists d; split; [left|]; reflexivity|].
    destruct (IHa b (fst x) (ex_intro _ x (conj X eq_refl))) as [(y & Y1 & Y2)|(y & Y1 & Y2)]; [left|right]; exists y; (split; [right|]; assumption).
  - destruct H as (x & [<-|X] & <-); [right; exists e; split; [left|]; reflexivity|].
    destruct (IHb (fst x) (ex_intro _ x (conj X eq_refl))) as [H|(y & Y1 & Y2)]; [left; exact H|right; exists y; split; [right|]; assumption].
Qed.

Lemma rising_sadd a : forall b, rising a -> rising b -> rising (sadd a b).
Proof.
  induction a as [|d a IHa]; [intros b _ B; exact B|]. induction b as [|e b IHb]; intros A B; [exact A|]. rewrite sadd_cons.
  pose proof (proj1 (rising_cons d a) A) as [A1 A2]. pose proof (proj1 (rising_cons e b) B) as [B1 B2].
  destruct (Z.ltb_spec (fst d) (fst e)) as [L|L]; [|destruct (Z.eqb_spec (fst d) (fst e)) as [Q|Q]].
  - apply rising_cons. split; [apply IHa; assumption|]. intros x X. destruct (sadd_key a (e :: b) (fst x) (ex_intro _ x (conj X eq_refl))) as [(y & Y1 & <-)|(y & Y1 & <-)]; [exact (A2 y Y1)|].
    destruct Y1 as [<-|Y1]; [exact L|specialize (B2 y Y1); lia].
  - apply rising_cons. cbn [fst]. split; [apply IHa; assumption|]. intros x X. destruct (sadd_key a b (fst x) (ex_intro _ x (conj X eq_refl))) as [(y & Y1 & <-)|(y & Y1 & <-)]; [exact (A2 y Y1)|].
    specialize (B2 y Y1). lia.
  - apply rising_cons. split; [apply IHb; assumption|]. intros x X. destruct (sadd_key (d :: a) b (fst x)) as [(y & Y1 & <-)|(y & Y1 & <-)]; [exists x; split; [exact X|reflexivity]| |exact (B2 y Y1)].
    destruct Y1 as [<-|Y1]; [lia|specialize (A2 y Y1); lia].
Qed.

Lemma ssum_keeps (P : sparse -> Prop) : P [] -> (forall a b, P a -> P b -> P (sadd a b)) -> forall ls, Forall P ls -> P (ssum ls).
Proof.
  intros N A. assert (forall ls, Forall P ls -> Forall P (sadd_pairs ls)) as PAIRS.
  { fix IH 1. intros [|a [|b rest]] H; try exact H. cbn [sadd_pairs]. inversion H as [|x y H1 H2]; subst. inversion H2 as [|x y H3 H4]; subst. constructor; [apply A; assumption|apply IH; exact H4]. }
  unfold ssum. generalize 64%nat. induction n as [|n IH]; intros ls H; cbn [ssum_in].
  - induction H; cbn [fold_right]; [exact N|apply A; assumption].
  - destruct ls as [|a [|b rest]]; [exact N|inversion H; assumption|]. apply IH, PAIRS, H.
Qed.

Lemma rising_ssum ls : Forall rising ls -> rising (ssum ls).
Proof. apply ssum_keeps; [exact rising_nil|intros a b; apply rising_sadd]. Qed.

Lemma sadd_nonneg a : forall b, Forall (fun e : Z * Z => 0 <= snd e) a -> Forall (fun e : Z * Z => 0 <= snd e) b -> Forall (fun e : Z * Z => 0 <= snd e) (sadd a b).
Proof.
  induction a as [|d a IHa]; [intros b _ B; exact B|]. induction b as [|e b IHb]; intros A B; [exact A|]. rewrite sadd_cons.
  inversion A as [|x y A1 A2]; inversion B as [|x' y' B1 B2]; subst. destruct (Z.ltb (fst d) (fst e)); [|destruct (Z.eqb (fst d) (fst e))].
  - constructor; auto.
  - constructor; [cbn [snd]; lia|auto].
  - constructor; auto.
Qed.

Section Carried.
  Variables (E : edge_problem) (g h : graph) (is_open : edge -> bool) (budget : Z) (room : Z -> Z) (ind : Z -> Z) (cut : Z -> Z -> bool) (near : list Z).
  Hypothesis IND : forall k, ind k = 0 \/ ind k = 1.
  Hypothesis BUDGET : forall keys, NoDup keys -> zsum keys ind <= budget.
  Hypothesis CUT : forall u v, is_open (named E u v) = true -> ind (key_of E u v) = bit (cut u v).
  Hypothesis OPEN : forall u v, is_open (named E u v) = false -> cut u v = false.
  Hypothesis SELF : forall v, cut v v = false.
  Hypothesis RED : forall v, In v near -> Permutation (h v) (filter (fun u => negb (cut u v)) (g v)).
  Hypothesis ROOM : forall v, In v near -> Z.of_nat (length (filter (fun u => cut u v) (g v))) <= capacity E g is_open room v.

  Definition part (a : sparse) : Z := zsum a (fun e => snd e * ind (fst e)).

  Lemma part_sadd a : forall b, part (sadd a b) = part a + part b.
  Proof.
    induction a as [|d a IHa]; [reflexivity|]. induction b as [|e b IHb]; [change (sadd (d :: a) []) with (d :: a); unfold part; rewrite zsum_nil; lia|]. rewrite sadd_cons.
    destruct (Z.ltb (fst d) (fst e)); [|destruct (Z.eqb_spec (fst d) (fst e)) as [Q|]].
    - unfold part in *. rewrite zsum_cons, IHa, !zsum_cons. lia.
    - unfold part in *. rewrite zsum_cons, IHa, !zsum_cons. cbn [fst snd]. rewrite <- Q. lia.
    - unfold part in *. rewrite zsum_cons, IHb, !zsum_cons. lia.
  Qed.

  Lemma part_ssum ls : part (ssum ls) = zsum ls part.
  Proof.
    assert (forall ls, zsum (sadd_pairs ls) part = zsum ls part) as PAIRS.
    { fix IH 1. intros [|a [|b rest]]; try reflexivity. cbn [sadd_pairs]. rewrite !zsum_cons, part_sadd, IH. lia. }
    unfold ssum. generalize 64%nat. intros n. revert ls. induction n as [|n IH]; intros ls; cbn [ssum_in].
    - induction ls as [|a ls IHl]; [reflexivity|]. cbn [fold_right]. rewrite part_sadd, zsum_cons, IHl. reflexivity.
    - destruct ls as [|a [|b rest]]; [reflexivity|rewrite zsum_cons, zsum_nil; lia|]. rewrite IH. apply PAIRS.
  Qed.

  Lemma part_times c a : part (smap (Z.mul c) a) = c * part a.
  Proof. unfold part, smap. rewrite zsum_map, <- zsum_scale. apply zsum_ext. intros e. cbn [fst snd]. lia. Qed.
  Lemma part_scaled c f a : part (smap (fun x => c * f x) a) = c * part (smap f a).
  Proof. unfold part, smap. rewrite !zsum_map, <- zsum_scale. apply zsum_ext. intros e. cbn [fst snd]. lia. Qed.
  Lemma part_opp a : part (smap Z.opp a) = - part a.
  Proof. unfold part, smap. rewrite zsum_map, <- zsum_opp. apply zsum_ext. intros e. cbn [fst snd]. lia. Qed.
  Lemma part_mono a f q : (forall x, f x <= q x) -> part (smap f a) <= part (smap q a).
  Proof. intros H. unfold part, smap. rewrite !zsum_map. apply zsum_le_in. intros e _. cbn [fst snd]. specialize (H (snd e)). destruct (IND (fst e)) as [->| ->]; lia. Qed.
  Lemma part_same a : part (smap (fun x => x) a) = part a.
  Proof. unfold part, smap. rewrite zsum_map. reflexivity. Qed.
  Lemma part_nonneg a f : (forall x, 0 <= f x) -> 0 <= part (smap f a).
  Proof. intros H. unfold part, smap. rewrite zsum_map. apply zsum_nonneg. intros e _. cbn [fst snd]. specialize (H (snd e)). destruct (IND (fst e)) as [->| ->]; lia. Qed.

  Lemma top_above l : exists above, 0 <= above /\ top budget l = budget * above + zsum l (fun x => pos (x - above)).
  Proof.
    unfold top. set (above := if Z.leb _ budget then 0 else _). exists above. split.
    - unfold above. destruct (Z.leb _ budget); [lia|]. destruct (fold_left _ _ _); [lia|unfold pos; lia].
    - cbn zeta. f_equal. apply zsum_ext. intros x. unfold pos. destruct (Z.leb_spec x above); lia.
  Qed.

  Lemma top_sound (l : list (Z * Z)) : NoDup (map fst l) -> zsum l (fun e => snd e * ind (fst e)) <= top budget (map snd l).
  Proof.
    intros ND. destruct (top_above (map snd l)) as (above & A & ->). rewrite zsum_map. pose proof (BUDGET _ ND) as B. rewrite zsum_map in B.
    transitivity (above * zsum l (fun e => ind (fst e)) + zsum l (fun e => pos (snd e - above))); [|nia].
    rewrite <- zsum_scale, <- zsum_plus. apply zsum_le_in. intros e _. unfold pos. destruct (IND (fst e)) as [->| ->]; lia.
  Qed.

  Lemma part_top a : rising a -> part a <= top budget (map snd a).
  Proof. intros R. apply top_sound, rising_nodup, R. Qed.

  Definition holds (c : carried) (x : Z) : Prop := start c + part (least c) <= x <= start c + part (most c) /\ rising (least c) /\ rising (most c).

  Lemma holds_made s a b x : s + part a <= x <= s + part b -> rising a -> rising b -> holds {| start := s; at_least := Delay a; at_most := Delay b |} x.
  Proof. intros H A B. exact (conj H (conj A B)). Qed.

  Lemma holds_range c x : holds c x -> force (fst (range_of budget c)) <= x <= force (snd (range_of budget c)).
  Proof.
    intros (H & L & M). unfold range_of, low_end, high_end. cbn [fst snd force]. pose proof (part_top (most c) M). pose proof (part_top (smap Z.opp (least c)) (rising_smap _ _ L)) as P.
    rewrite part_opp in P. unfold smap in P. rewrite map_map in P. cbn [snd] in P. lia.
  Qed.

  Lemma holds_constant x : holds (constant x) x.
  Proof. apply holds_made; [change (part []) with 0; lia|apply rising_nil|apply rising_nil]. Qed.

  Lemma holds_times a c x : holds c x -> holds (times a c) (a * x).
  Proof.
    intros (H & L & M). unfold times. destruct (Z.leb_spec 0 a); (apply holds_made; [rewrite !part_times; nia|apply rising_smap; assumption|apply rising_smap; assumption]).
  Qed.

  Lemma holds_negated c x : holds c x -> holds (negated c) (- x).
  Proof. intros (H & L & M). apply holds_made; [rewrite !part_opp; lia|apply rising_smap; assumption|apply rising_smap; assumption]. Qed.

  Lemma holds_total cs xs : Forall2 holds cs xs -> holds (total_of cs) (zsum xs (fun x => x)).
  Proof.
    intros H. apply holds_made; [rewrite !part_ssum, !zsum_map|apply rising_ssum|apply rising_ssum].
    - induction H as [|c x cs xs (H1 & _) HF IH]; [cbn; lia|]. rewrite !zsum_cons. lia.
    - induction H as [|c x cs xs (_ & H1 & _) HF IH]; cbn [map]; constructor; assumption.
    - induction H as [|c x cs xs (_ & _ & H1) HF IH]; cbn [map]; constructor; assumption.
  Qed.

  Lemma holds_sum {A} (l : list A) f (x : A -> Z) : (forall a, In a l -> holds (f a) (x a)) -> holds (total_of (map f l)) (zsum l x).
  Proof.
    intros H. replace (zsum l x) with (zsum (map x l) (fun x => x)) by (rewrite zsum_map; reflexivity). apply holds_total. induction l as [|a l IH]; cbn [map]; constructor; [apply H; left; reflexivity|].
    apply IH. intros b I. apply H. right. exact I.
  Qed.

  Lemma clipped_part s a : 0 <= s -> let m x := Z.max (Z.min x 0) (- s) in
    part (smap m a) <= 0 /\ (part (smap m a) <= - s \/ part (smap m a) <= part a).
  Proof.
    intros S m. unfold part, smap. rewrite zsum_map. cbn [fst snd]. induction a as [|e a IH]; [cbn; lia|]. rewrite !zsum_cons. destruct IH as [I1 I2].
    unfold m in *. destruct (IND (fst e)) as [->| ->]; lia.
  Qed.

  Lemma holds_activated c x : holds c x -> holds (activated budget c) (pos x).
  Proof.
    intros H. pose proof (holds_range c x H) as R. unfold range_of in R. cbn [fst snd force] in R. unfold activated.
    destruct (Z.leb_spec 0 (start c)) as [S|S].
    { destruct (Z.leb_spec 0 (low_end budget c)) as [L|L]; [replace (pos x) with x by (unfold pos; lia); exact H|].
      destruct H as ([H1 H2] & R1 & R2). assert (part (most c) <= part (smap pos (most c))) as P by (rewrite <- part_same at 1; apply part_mono; intros; unfold pos; lia).
      assert (0 <= part (smap pos (most c))) as Q by (apply part_nonneg; intros; unfold pos; lia).
      apply holds_made; [|apply rising_smap; assumption|apply rising_smap; assumption]. destruct (clipped_part (start c) (least c) S) as [C1 C2]. unfold pos in *. lia. }
    cbn zeta. set (high := high_end budget c) in *.
    destruct (Z.leb_spec high 0) as [U|U]; [replace (pos x) with 0 by (unfold pos; lia); apply holds_constant|].
    destruct H as ([H1 H2] & R1 & R2). assert (part (most c) <= part (smap pos (most c))) as P by (rewrite <- part_same at 1; apply part_mono; intros; unfold pos; lia).
    assert (0 <= part (smap pos (most c))) as Q by (apply part_nonneg; intros; unfold pos; lia).
    apply holds_made; [|apply rising_nil|apply rising_smap; exact R2]. change (part []) with 0. split; [unfold pos; lia|]. set (a := fun y => - (- (pos y * high) / (high - start c))).
      assert (forall y, pos y * high <= (high - start c) * a y) as A.
      { intros y. unfold a. pose proof (divided_le (- (pos y * high)) (high - start c)). nia. }
      assert (high * part (smap pos (most c)) <= (high - start c) * part (smap a (most c))) as B.
      { rewrite <- !part_scaled. apply part_mono. intros y. specialize (A y). lia. }
      assert (0 <= part (smap a (most c))) as N. { apply part_nonneg. intros y. specialize (A y). unfold pos in A. nia. }
      unfold pos. destruct (Z.max_spec x 0) as [[M ->]|[M ->]]; [lia|].
      assert ((high - start c) * x <= high * (x - start c)) by nia. nia.
  Qed.

  (* Rows. *)
  Notation known := (rows_known E g is_open room).
  Definition removed (v : Z) : Z := Z.of_nat (length (filter (fun u => cut u v) (g v))).

  Lemma removed_sum v : zsum (g v) (fun u => bit (cut u v)) = removed v.
  Proof.
    unfold removed. induction (g v) as [|u l IH]; [reflexivity|]. rewrite zsum_cons, IH. cbn [filter]. destruct (cut u v); cbn [bit length]; lia.
  Qed.

  Lemma cuts_part v : part (cuts_into E g is_open v) = removed v.
  Proof.
    unfold cuts_into. rewrite part_ssum, zsum_map, <- removed_sum. unfold open_into. rewrite zsum_filter. apply zsum_ext. intros u. unfold part. rewrite zsum_cons, zsum_nil. cbn [fst snd].
    destruct (is_open (named E u v)) eqn:O; [rewrite CUT by exact O; lia|rewrite OPEN by exact O; reflexivity].
  Qed.

  Lemma cuts_rising v : rising (cuts_into E g is_open v).
  Proof. apply rising_ssum. apply Forall_forall. intros a I. apply in_map_iff in I as (u & <- & _). apply rising_cons. split; [apply rising_nil|intros d []]. Qed.

  Lemma cuts_nonneg v : Forall (fun e => 0 <= snd e) (cuts_into E g is_open v).
  Proof.
    apply (ssum_keeps (Forall (fun e => 0 <= snd e))); [constructor|intros a b; apply sadd_nonneg|]. apply Forall_forall. intros a I. apply in_map_iff in I as (u & <- & _).
    constructor; [cbn; lia|constructor].
  Qed.

  Lemma size_removed itself v : In v near -> Spec.size_of itself h v = Spec.size_of itself g v - removed v.
  Proof.
    intros N. unfold Spec.size_of, received, removed. pose proof (Permutation_length (RED v N)) as L.
    assert (forall l, (length (filter (fun u => negb (cut u v)) l) + length (filter (fun u => cut u v) l) = length l)%nat) as S.
    { induction l as [|u l IH]; [reflexivity|]. cbn [filter]. destruct (cut u v); cbn [negb length]; lia. }
    specialize (S (g v)). destruct (itself v); cbn [length]; lia.
  Qed.

  (* A row receives from those that are not removed from it. *)
  Lemma received_sum itself v f : In v near -> zsum (received itself h v) f = zsum (received itself g v) (fun u => (1 - bit (cut u v)) * f u).
  Proof.
    intros N. assert (zsum (h v) f = zsum (g v) (fun u => (1 - bit (cut u v)) * f u)) as S.
    { rewrite (zsum_perm _ _ f (RED v N)), zsum_filter. apply zsum_ext. intros u. destruct (cut u v); cbn [negb bit]; lia. }
    unfold received. destruct (itself v); rewrite ?zsum_cons, ?SELF; cbn [bit]; lia.
  Qed.

  Section Term.
    Variables (itself : Z -> bool) (entry : Z -> Z -> Z) (by_senders : bool) (v : Z).
    Hypothesis NEAR : In v near.
    Hypothesis SENDERS : by_senders = true -> forall u, In u (received itself g v) -> In u near.
    Hypothesis INDEPENDENT : by_senders = false -> forall i a b, entry i a = entry i b.
    Let n := Spec.size_of itself g v.
    Let k := get (capacities known) v.
    Let value (m : Z -> Z) : Z := zsum (received itself h v) (fun u => entry (Spec.size_of itself h v) (Spec.size_of itself h u) * m u).
    Let arrives := arrival_of E g is_open known itself entry by_senders v.

    Lemma arc_part u x : In u (received itself g v) -> part (map (fun key => (key, x)) (arc (arrives u))) = bit (cut u v) * x.
    Proof.
      intros I. unfold arrives, arrival_of. cbn zeta. cbn [arc]. destruct (existsb (Z.eqb u) (g v)) eqn:X; cbn [andb].
      - destruct (is_open (named E u v)) eqn:O; cbn [map]; unfold part; rewrite ?zsum_cons, zsum_nil; cbn [fst snd].
        + rewrite CUT by exact O. lia.
        + rewrite OPEN by exact O. cbn [bit]. lia.
      - assert (u = v) as ->; [|rewrite SELF; cbn; lia]. unfold received in I. assert (In u (g v) -> existsb (Z.eqb u) (g v) = true) as G
          by (intros Y; apply existsb_exists; exists u; split; [exact Y|apply Z.eqb_refl]).
        destruct (itself v); [destruct I as [<-|I]; [reflexivity|]|]; specialize (G I); congruence.
    Qed.

    Lemma elsewhere_part u : In u (received itself g v) -> by_senders = true -> u <> v ->
      0 <= part (elsewhere (arrives u)) /\ (cut u v = false -> part (elsewhere (arrives u)) = removed u).
    Proof.
      intros I S D. unfold arrives, arrival_of. cbn zeta. cbn [elsewhere]. rewrite S. destruct (Z.eqb_spec u v); [contradiction|]. cbn [negb andb rows_known cuts_of]. rewrite get_tabulate.
      set (own := if _ && _ then _ else _). split.
      - unfold part. apply zsum_nonneg. intros e X. apply filter_In in X as [X _]. pose proof (cuts_nonneg u) as P. rewrite Forall_forall in P. specialize (P e X).
        destruct (IND (fst e)) as [->| ->]; lia.
      - intros K. rewrite <- cuts_part. unfold part. rewrite zsum_filter. apply zsum_ext. intros e. destruct (existsb (Z.eqb (fst e)) own) eqn:X; cbn [negb]; [|reflexivity].
        apply existsb_exists in X as (key & X & Q). apply Z.eqb_eq in Q. unfold own in X. destruct (existsb (Z.eqb u) (g v) && is_open (named E u v)) eqn:O; [|destruct X].
        apply andb_prop in O as [_ O]. destruct X as [<-|[]]. rewrite Q, CUT, K by exact O. cbn [bit]. lia.
    Qed.

    Lemma rates_range u d q : In (d, q) (flat_map (fun r => let a := entry (n - r) (Spec.size_of itself g u) in
        map (fun q => (entry (n - r) (Spec.size_of itself g u - q) - a, q)) (up_to (get (capacities known) u))) (ids (k + 1))) -> by_senders = true -> u <> v ->
      q * fst (rates (arrives u)) <= d <= q * snd (rates (arrives u)).
    Proof.
      intros I S D. unfold arrives, arrival_of. cbn zeta. cbn [rates]. rewrite S. destruct (Z.eqb_spec u v); [contradiction|]. cbn [negb andb].
      assert (0 < q) as Q. { apply in_flat_map in I as (r & _ & I). apply in_map_iff in I as (q' & E0 & I). injection E0. intros -> _. apply up_to_in in I. lia. }
      fold n k. cbn zeta in I. revert I. generalize (flat_map (fun r => map (fun q => (entry (n - r) (Spec.size_of itself g u - q) - entry (n - r) (Spec.size_of itself g u), q)) (up_to (get (capacities known) u))) (ids (k + 1))).
      intros l. induction l as [|e l IH]; [intros []|]. intros [->|I]; cbn [fold_right fst snd].
      - pose proof (divided_le d q Q). pose proof (divided_le (- d) q Q). set (low := fst (fold_right _ _ l)). set (high := snd (fold_right _ _ l)).
        pose proof (Z.le_min_l (d / q) low). pose proof (Z.le_max_l (- (- d / q)) high). nia.
      - specialize (IH I). set (low := fst (fold_right _ _ l)) in *. set (high := snd (fold_right _ _ l)) in *.
        pose proof (Z.le_min_r (fst e / snd e) low). pose proof (Z.le_max_r (- (- fst e / snd e)) high). nia.
    Qed.

    Lemma rates_zero u : fst (rates (arrives u)) <= 0 <= snd (rates (arrives u)).
    Proof.
      unfold arrives, arrival_of. cbn zeta. cbn [rates]. destruct (by_senders && _); [|cbn; lia]. generalize (flat_map (fun r => map (fun q => (entry (Spec.size_of itself g v - r) (Spec.size_of itself g u - q) - entry (Spec.size_of itself g v - r) (Spec.size_of itself g u), q)) (up_to (get (capacities known) u))) (ids (get (capacities known) v + 1))).
      intros l. induction l as [|e l IH]; cbn [fold_right fst snd] in *; lia.
    Qed.

    Variables (message : Z -> carried) (m : Z -> Z).
    Hypothesis HOLDS : forall u, In u (received itself g v) -> holds (message u) (m u).
    Let range u := range_of budget (message u).
    Let rise r u := low_product (entry (n - r) (if Z.eqb u v then n - r else Spec.size_of itself g u) - entry n (Spec.size_of itself g u)) (range u).
    Let spread r := zsum (received itself g v) (rise r).
    Let sends u := times (entry n (Spec.size_of itself g u)) (message u).
    Let charged u := sender_charge (arrives u) (range u).

    Lemma charged_part u : In u (received itself g v) ->
      (cut u v = true -> part (smap (Z.mul (charged u)) (elsewhere (arrives u))) <= 0) /\
      (cut u v = false -> part (smap (Z.mul (charged u)) (elsewhere (arrives u))) <=
        (entry (n - removed v) (Spec.size_of itself h u) - entry (n - removed v) (if Z.eqb u v then n - removed v else Spec.size_of itself g u)) * m u).
    Proof.
      intros I. rewrite part_times. pose proof (holds_range _ _ (HOLDS u I)) as R. fold (range u) in R. pose proof (rates_zero u) as Z0.
      pose proof (low_product_le (fst (rates (arrives u))) (range u) (m u) R) as L1. pose proof (low_product_le (snd (rates (arrives u))) (range u) (m u) R) as L2.
      assert (charged u <= fst (rates (arrives u)) * m u /\ charged u <= snd (rates (arrives u)) * m u) as [C1 C2] by (unfold charged, sender_charge; lia).
      assert (charged u <= 0) as C0 by (destruct (Z.le_gt_cases 0 (m u)); nia).
      destruct (bool_dec by_senders true) as [S|S]; [destruct (Z.eqb_spec u v) as [Q|D]|apply not_true_is_false in S].
      - assert (elsewhere (arrives u) = []) as -> by (unfold arrives, arrival_of; cbn zeta; cbn [elsewhere]; rewrite S, Q, Z.eqb_refl; reflexivity). change (part []) with 0.
        split; [lia|]. intros _. rewrite Q, size_removed by exact NEAR. fold n. lia.
      - destruct (elsewhere_part u I S D) as [P1 P2]. split; [nia|]. intros K. rewrite (P2 K). pose proof (SENDERS S u I) as NU. rewrite size_removed by exact NU.
        pose proof (ROOM u NU) as C. fold (removed u) in C. assert (0 <= removed u) by (unfold removed; lia). destruct (Z.eq_dec (removed u) 0) as [Z1|NZ]; [rewrite Z1, Z.sub_0_r; lia|].
        pose proof (ROOM v NEAR) as CV. fold (removed v) in CV. assert (0 <= removed v) by (unfold removed; lia).
        set (d := entry (n - removed v) (Spec.size_of itself g u - removed u) - entry (n - removed v) (Spec.size_of itself g u)).
        assert (removed u * fst (rates (arrives u)) <= d <= removed u * snd (rates (arrives u))) as RR.
        { apply rates_range; [|exact S|exact D]. apply in_flat_map. exists (removed v). split; [apply ids_in; unfold k; cbn [rows_known capacities]; rewrite get_tabulate; lia|]. cbn zeta.
          apply (in_map (fun q => (entry (n - removed v) (Spec.size_of itself g u - q) - entry (n - removed v) (Spec.size_of itself g u), q))). apply up_to_in. cbn [rows_known capacities]. rewrite get_tabulate. lia. }
        destruct (Z.le_gt_cases 0 (m u)); nia.
      - assert (elsewhere (arrives u) = []) as -> by (unfold arrives, arrival_of; cbn zeta; cbn [elsewhere]; rewrite S; reflexivity). change (part []) with 0.
        split; [lia|]. intros _. rewrite (INDEPENDENT S _ (Spec.size_of itself h u) (if Z.eqb u v then n - removed v else Spec.size_of itself g u)). lia.
    Qed.

    Lemma spreads_are : fold_right (fun p sums => vadd (risen (snd p)) sums) (map (fun _ => 0) (up_to k))
        (map (fun a => (a, part_at budget message a)) (plan_of E g is_open known itself entry by_senders v)) = map spread (up_to k).
    Proof.
      unfold plan_of, spread. rewrite map_map. generalize (received itself g v). intros l. induction l as [|u l IH]; [reflexivity|]. cbn [map fold_right]. rewrite IH. cbn [snd].
      unfold part_at, arrival_of. cbn zeta. cbn [risen rises from]. rewrite map_map. fold n k. rewrite vadd_map. apply map_ext. intros r. rewrite zsum_cons. reflexivity.
    Qed.

    Let begun := zsum (plan_of E g is_open known itself entry by_senders v) (fun a => entry_of a * start (message (from a))).
    Lemma lower_holds : let low := lower budget (plan_of E g is_open known itself entry by_senders v) k message in
      begun + part low <= value m /\ rising low.
    Proof.
      unfold lower, begun. cbn zeta. rewrite spreads_are, combine_self, map_map. cbn [fst snd].
      set (shares := map (fun r => spread r / r) (up_to k)). unfold plan_of. rewrite map_map. fold arrives. split.
      - rewrite part_ssum, zsum_flat_map, !zsum_map, <- zsum_plus.
        set (r := removed v). assert (0 <= r) by (unfold r, removed; lia). pose proof (removed_sum v) as RS. fold r in RS.
        assert (zsum (received itself g v) (fun u => bit (cut u v)) = r) as RR.
        { unfold received. destruct (itself v); rewrite ?zsum_cons, ?SELF; cbn [bit]; lia. }
        set (share := if Z.eqb r 0 then 0 else spread r / r).
        assert (r * share <= zsum (received itself g v) (fun u => if Z.eqb r 0 then 0 else rise r u)) as SH.
        { unfold share. destruct (Z.eqb_spec r 0) as [->|NZ]; [rewrite (zsum_zero (received itself g v)) by reflexivity; lia|]. apply divided_le. lia. }
        unfold value. rewrite received_sum by exact NEAR. rewrite (size_removed itself v NEAR). fold n r.
        transitivity (zsum (received itself g v) (fun u => (1 - bit (cut u v)) * (entry (n - r) (Spec.size_of itself h u) * m u) + (bit (cut u v) * share - if Z.eqb r 0 then 0 else rise r u)));
          [|unfold Z.sub at 3; rewrite !zsum_plus, zsum_opp, zsum_scale_r, RR; lia].
        apply zsum_le_in. intros u I. rewrite !zsum_cons, zsum_nil. cbn [fst snd]. rewrite arc_part by exact I.
        change (reached (part_at budget message (arrives u))) with (range u). fold (charged u).
        change (sent (part_at budget message (arrives u))) with (sends u).
        change (entry_of (arrives u) * start (message (from (arrives u)))) with (entry n (Spec.size_of itself g u) * start (message u)).
        assert (entry n (Spec.size_of itself g u) * start (message u) = start (sends u)) as -> by (unfold sends, times; destruct (Z.leb 0 _); reflexivity).
        destruct (charged_part u I) as [CP1 CP2]. destruct (holds_times (entry n (Spec.size_of itself g u)) (message u) (m u) (HOLDS u I)) as ([T1 _] & T2 & _). fold (sends u) in T1, T2.
        pose proof (ROOM v NEAR) as C. fold (removed v) in C. fold r in C.
        destruct (cut u v) eqn:K; cbn [bit].
        + specialize (CP1 eq_refl). pose proof (part_top _ T2) as TP. assert (r <> 0) as NZ.
          { intros Z0. assert (bit (cut u v) <= zsum (received itself g v) (fun u => bit (cut u v))) as M
              by (apply (zsum_mem (received itself g v) (fun u => bit (cut u v))); [exact I|intros b _; unfold bit; destruct (cut b v); lia]).
            rewrite K, RR in M. cbn [bit] in M. lia. }
          unfold share. destruct (Z.eqb_spec r 0); [contradiction|].
          assert (cut_charge budget shares (part_at budget message (arrives u)) <= spread r / r - rise r u - start (sends u) - top budget (map snd (least (sends u)))) as CC.
          { unfold cut_charge. change (sent (part_at budget message (arrives u))) with (sends u).
            assert (risen (part_at budget message (arrives u)) = map (fun r => rise r u) (up_to k)) as -> by (unfold arrives, part_at, arrival_of; cbn zeta; cbn [risen rises from]; rewrite map_map; reflexivity).
            unfold shares. rewrite combine_maps.
            pose proof (minimum_le (map (fun r => (spread r / r, rise r u)) (up_to k)) (fun e => fst e - snd e) (spread r / r, rise r u)) as ML. cbn [fst snd] in ML.
            assert (In (spread r / r, rise r u) (map (fun r => (spread r / r, rise r u)) (up_to k))) as IM.
            { apply (in_map (fun r => (spread r / r, rise r u))). apply up_to_in. unfold k. cbn [rows_known capacities]. rewrite get_tabulate. lia. }
            specialize (ML IM). lia. }
          lia.
        + specialize (CP2 eq_refl). fold r in CP2.
          assert ((if Z.eqb r 0 then 0 else rise r u) <= (entry (n - r) (if Z.eqb u v then n - r else Spec.size_of itself g u) - entry n (Spec.size_of itself g u)) * m u) as RI.
          { destruct (Z.eqb_spec r 0) as [->|NZ].
            - rewrite Z.sub_0_r. destruct (Z.eqb_spec u v) as [->|]; [fold n; lia|lia].
            - unfold rise. apply low_product_le, holds_range, HOLDS, I. }
          lia.
      - apply rising_ssum. apply Forall_forall. intros a IA. apply in_flat_map in IA as (p & IP & IA). apply in_map_iff in IP as (u & <- & IU). cbn [fst snd] in IA.
        destruct IA as [<-|[<-|[<-|[]]]].
        + exact (proj1 (proj2 (holds_times (entry n (Spec.size_of itself g u)) (message u) (m u) (HOLDS u IU)))).
        + unfold arrives, arrival_of. cbn zeta. cbn [arc]. destruct (_ && _); cbn [map]; [apply rising_cons; split; [apply rising_nil|intros d []]|apply rising_nil].
        + apply rising_smap. unfold arrives, arrival_of. cbn zeta. cbn [elsewhere]. destruct (by_senders && _); [|apply rising_nil]. apply rising_filter. cbn [rows_known cuts_of].
          rewrite get_tabulate. apply cuts_rising.
    Qed.
  End Term.

  Lemma term_of_holds itself entry by_senders v message m : In v near ->
    (by_senders = true -> forall u, In u (received itself g v) -> In u near) -> (by_senders = false -> forall i a b, entry i a = entry i b) ->
    (forall u, In u (received itself g v) -> holds (message u) (m u)) ->
    holds (term_of budget (plan_of E g is_open known itself entry by_senders v) (get (capacities known) v) message)
      (zsum (received itself h v) (fun u => entry (Spec.size_of itself h v) (Spec.size_of itself h u) * m u)).
  Proof.
    intros N S I H. destruct (lower_holds itself entry by_senders v N S I message m H) as [L1 L2].
    destruct (lower_holds itself entry by_senders v N S I (fun u => negated (message u)) (fun u => - m u) (fun u IU => holds_negated _ _ (H u IU))) as [U1 U2].
    rewrite (zsum_ext _ (fun u => _ * - m u) (fun u => - (entry (Spec.size_of itself h v) (Spec.size_of itself h u) * m u))) in U1 by (intros; lia). rewrite zsum_opp in U1.
    apply holds_made; [rewrite part_opp|exact L2|apply rising_smap; exact U2].
    rewrite (zsum_ext _ _ (fun a => - (entry_of a * start (message (from a))))) in U1 by (intros; unfold negated; cbn [start]; lia). rewrite zsum_opp in U1. lia.
  Qed.

  (* Layers. *)
  Definition heard (r : rule Z) (v : Z) : list Z := map fst (by_rule r g v).

  Lemma heard_received itself (entry : Z -> Z -> Z) v : heard (ByBoth itself entry) v = received itself g v.
  Proof. unfold heard. cbn [by_rule]. rewrite map_map. cbn [fst]. apply map_id. Qed.

  Notation plans r := (planned_of E g is_open known r).

  Lemma term_at_holds r v message m :
    (along_edges r = true -> In v near) -> (by_sender r = true -> forall u, In u (heard r v) -> In u near) ->
    (forall u, In u (heard r v) -> holds (message u) (m u)) ->
    holds (term_at budget known (plans r) v message) (zsum (by_rule r h v) (fun e => snd e * m (fst e))).
  Proof.
    destruct r as [rows|itself entry|itself entry]; intros N S H; cbn [planned_of term_at by_rule]; rewrite ?get_tabulate.
    - apply (holds_sum (rows v) (fun e => times (snd e) (message (fst e))) (fun e => snd e * m (fst e))). intros e I. apply holds_times, H. unfold heard. cbn [by_rule]. apply in_map. exact I.
    - rewrite zsum_map. cbn [fst snd].
      apply (term_of_holds itself (fun i _ => entry i) false v message m (N eq_refl)); [discriminate|reflexivity|]. intros u I. apply H.
      change (heard (ByReceiver itself entry) v) with (heard (ByBoth itself (fun i _ => entry i)) v). rewrite heard_received. exact I.
    - rewrite zsum_map. cbn [fst snd]. rewrite heard_received in S, H.
      apply (term_of_holds itself entry true v message m (N eq_refl)); [intros _; exact (S eq_refl)|discriminate|exact H].
  Qed.

  Definition sends_to (v : Z) (t : planned * (Z -> carried)) (w : rule Z * (Z -> Z)) : Prop :=
    fst t = plans (fst w) /\ (along_edges (fst w) = true -> In v near) /\ (by_sender (fst w) = true -> forall u, In u (heard (fst w) v) -> In u near) /\
    forall u, In u (heard (fst w) v) -> holds (snd t u) (snd w u).

  Lemma unit_at_holds b v terms values : Forall2 (sends_to v) terms values ->
    holds (unit_at budget known b v terms) (b + zsum values (fun w => zsum (by_rule (fst w) h v) (fun e => snd e * snd w (fst e)))).
  Proof.
    intros H. unfold unit_at.
    replace (b + _) with (zsum (b :: map (fun w => zsum (by_rule (fst w) h v) (fun e => snd e * snd w (fst e))) values) (fun x => x)) by (rewrite zsum_cons, zsum_map; reflexivity).
    apply holds_total. constructor; [apply holds_constant|]. induction H as [|t w ts ws (Q & N & S & H) HF IH]; cbn [map]; constructor; [|exact IH].
    rewrite Q. apply term_at_holds; assumption.
  Qed.

  Variables (V : zrows) (once : list ((rule Z * (Z -> Z -> Z)) * table (list Z))).
  Definition message_value (l : ruled Z) (below : list (ruled Z)) (column : (Z -> Z -> Z) -> Z -> Z) (p : rule Z * (Z -> Z -> Z)) (u : Z) : Z :=
    zsum (ids (ruled_inputs l)) (fun i => zpassed (on_graph below h) i (zvalue (on_graph below h) V u i) * column (snd p) i).

  Lemma terms_near l below v wanted : In v wanted -> incl (rows_read g (l :: below) wanted) near -> forall p, In p (ruled_terms l) ->
    (along_edges (fst p) = true -> In v near) /\ (by_sender (fst p) = true -> forall u, In u (heard (fst p) v) -> In u near) /\
    forall u, In u (heard (fst p) v) -> In u (sources (terms (layer_on g l)) wanted).
  Proof.
    intros IV N p P. cbn [rows_read] in N. set (senders := sources (terms (layer_on g l)) wanted) in *.
    assert (forall u, In u (heard (fst p) v) -> In u senders) as HS.
    { intros u I. unfold heard in I. apply in_map_iff in I as (e & <- & I).
      apply (sources_in _ _ {| operator := by_rule (fst p) g; weight := snd p |} v); [|exact IV|exact I].
      apply (in_map (fun p => {| operator := by_rule (fst p) g; weight := snd p |})). exact P. }
    split; [|split; [|exact HS]].
    - intros A. apply N. apply in_or_app. left. assert (existsb (fun p => along_edges (fst p)) (ruled_terms l) = true) as -> by (apply existsb_exists; exists p; auto). exact IV.
    - intros A u I. apply N. apply in_or_app. right. apply in_or_app. left.
      assert (existsb (fun p => by_sender (fst p)) (ruled_terms l) = true) as -> by (apply existsb_exists; exists p; auto). exact (HS u I).
  Qed.

  Lemma sent_first_to_sends l column pick v wanted : In v wanted -> incl (rows_read g [l] wanted) near -> map fst once = ruled_terms l ->
    (forall s u, In s once -> pick (get (snd s) u) = zsum (ids (ruled_inputs l)) (fun i => V u i * column (snd (fst s)) i)) ->
    Forall2 (sends_to v) (sent_first_to once (plans_of E g is_open known l) pick) (map (fun p => (fst p, message_value l [] column p)) (ruled_terms l)).
  Proof.
    intros IV N B1 B2. pose proof (terms_near l [] v wanted IV N) as HN. unfold sent_first_to, plans_of. rewrite <- B1, !map_map, combine_maps. rewrite <- B1 in HN. clear B1 N.
    induction once as [|s ss IH]; [constructor|]. cbn [map]. constructor.
    - destruct (HN (fst s) (or_introl eq_refl)) as (H1 & H2 & _). split; [reflexivity|]. split; [exact H1|]. split; [exact H2|]. intros u _. cbn [fst snd].
      rewrite (B2 s u (or_introl eq_refl)). apply holds_constant.
    - apply IH; [intros s' u I; apply B2; right; exact I|intros p P; apply HN; right; exact P].
  Qed.

  (* Messages of the terms of a layer, one after the other. *)
  Lemma combined_sends l below column v wanted (messages : list (Z -> carried)) : In v wanted -> incl (rows_read g (l :: below) wanted) near ->
    Forall2 (fun m p => forall u, In u (sources (terms (layer_on g l)) wanted) -> holds (m u) (message_value l below column p u)) messages (ruled_terms l) ->
    Forall2 (sends_to v) (combine (plans_of E g is_open known l) messages) (map (fun p => (fst p, message_value l below column p)) (ruled_terms l)).
  Proof.
    intros IV N H. pose proof (terms_near l below v wanted IV N) as HN. unfold plans_of. set (senders := sources _ _) in *. clearbody senders. induction H as [|m p ms ps H HF IH]; [constructor|].
    cbn [map combine]. destruct (HN p (or_introl eq_refl)) as (H1 & H2 & H3). constructor.
    - split; [reflexivity|]. split; [exact H1|]. split; [exact H2|]. intros u I. apply H, H3, I.
    - apply IH. intros q Q. apply HN. right. exact Q.
  Qed.

  Lemma through_holds l below (column : (Z -> Z -> Z) -> Z -> Z) p u units :
    (forall i, In i (ids (ruled_inputs l)) -> holds (units i) (zpassed (on_graph below h) i (zvalue (on_graph below h) V u i))) ->
    holds (through (ruled_inputs l) (column (snd p)) units) (message_value l below column p u).
  Proof.
    intros U. unfold through, message_value.
    rewrite (zsum_ext _ _ (fun i => column (snd p) i * zpassed (on_graph below h) i (zvalue (on_graph below h) V u i))) by (intros; lia).
    apply (holds_sum (ids (ruled_inputs l)) (fun i => times (column (snd p) i) (units i))). intros i II. apply holds_times, U, II.
  Qed.

  Lemma unit_value l below v j : zvalue (on_graph (l :: below) h) V v j =
    ruled_bias l v j + zsum (map (fun p => (fst p, message_value l below (fun w i => w i j) p)) (ruled_terms l)) (fun w => zsum (by_rule (fst w) h v) (fun e => snd e * snd w (fst e))).
  Proof. cbn [on_graph map zvalue layer_on terms inputs bias]. rewrite !zsum_map. reflexivity. Qed.

  Lemma twice_spec f u i : twice f u i = f u i.
  Proof. unfold twice. rewrite !get_tabulate. reflexivity. Qed.

  Lemma first_pick l w u p (f : (Z -> Z -> Z) -> Z -> Z) : In p (ruled_terms l) ->
    get (tabulate (messages {| operator := fun _ => []; weight := snd p |} w (sent_rows V (ruled_inputs l)))) u =
    map (fun j => zsum (ids (ruled_inputs l)) (fun i => V u i * snd p i j)) (ids w).
  Proof.
    intros _. rewrite get_tabulate. exact (messages_spec (layer_on g l) w (sent_rows V) V {| operator := fun _ => []; weight := snd p |} u (sent_rows_reads l g V)).
  Qed.

  Notation passes := (passed_by E g is_open budget known once).

  Lemma passed_by_holds l0 w0 : once = sent_first l0 w0 V -> forall net top wanted u i, lowest net top = Some (l0, w0) -> In u wanted -> 0 <= i < top ->
    incl (rows_read g net wanted) near -> holds (passes net u i) (zpassed (on_graph net h) i (zvalue (on_graph net h) V u i)).
  Proof.
    intros SENT. induction net as [|l below IH]; intros top wanted u i L IU II N; [discriminate|]. cbn [passed_by]. unfold passed. cbn zeta.
    set (messages := match below with [] => _ | _ => _ end).
    assert (holds (unit_at budget known (ruled_bias l u i) u (messages i)) (zvalue (on_graph (l :: below) h) V u i)) as H.
    { rewrite unit_value. apply unit_at_holds. destruct below as [|b below]; unfold messages.
      - apply (sent_first_to_sends l (fun w i0 => w i0 i) _ u wanted IU N).
        + cbn [lowest] in L. injection L as <- <-. rewrite SENT. unfold sent_first. rewrite map_map. cbn [fst]. apply map_id.
        + cbn [lowest] in L. injection L as <- <-. rewrite SENT. unfold sent_first. intros s x I. apply in_map_iff in I as (p & <- & I). cbn [fst snd]. rewrite (first_pick l top x p (fun w => w i)) by exact I.
          unfold at_place. apply (nth_ids (fun j => zsum (ids (ruled_inputs l)) (fun i0 => V x i0 * snd p i0 j))). exact II.
      - rewrite get_tabulate. apply (combined_sends l (b :: below) (fun w i0 => w i0 i) u wanted _ IU N).
        assert (forall ts : list (rule Z * (Z -> Z -> Z)), Forall2 (fun m p => forall x, In x (sources (terms (layer_on g l)) wanted) -> holds (m x) (message_value l (b :: below) (fun w i0 => w i0 i) p x))
          (map (fun p => get (tabulate (fun x => through (ruled_inputs l) (fun i0 => snd p i0 i) (twice (passes (b :: below)) x)))) ts) ts) as K; [|apply K].
        induction ts as [|p ts IHt]; cbn [map]; constructor; [|exact IHt]. intros x X. rewrite get_tabulate. apply (through_holds l (b :: below) (fun w i0 => w i0 i) p x). intros i0 I0.
        rewrite twice_spec. apply (IH (ruled_inputs l) (sources (terms (layer_on g l)) wanted)); [exact L|exact X|apply ids_in; exact I0|].
        intros z Z0. apply N. cbn [rows_read]. apply in_or_app. right. apply in_or_app. right. exact Z0. }
    cbn [on_graph map zpassed layer_on relu]. fold (on_graph below h). change (layer_on h l :: on_graph below h) with (on_graph (l :: below) h).
    destruct (ruled_relu l i); [apply holds_activated|]; exact H.
  Qed.

  Lemma at_places {A B} (R : B -> A -> Prop) (f : nat -> B) : forall ts from, (forall k p, nth_error ts k = Some p -> R (f (from + k)%nat) p) -> Forall2 R (map f (seq from (length ts))) ts.
  Proof.
    induction ts as [|p ts IH]; intros from H; cbn [length seq map]; constructor.
    - specialize (H 0%nat p eq_refl). rewrite Nat.add_0_r in H. exact H.
    - apply IH. intros k q K. specialize (H (S k) q K). rewrite <- plus_n_Sm in H. exact H.
  Qed.

  Lemma find_against {B} (f : Z -> B) other : forall others : list Z, In other others -> List.find (fun e => Z.eqb (fst e) other) (map (fun o => (o, f o)) others) = Some (other, f other).
  Proof.
    induction others as [|o others IH]; [intros []|]. intros I. cbn [map List.find fst]. destruct (Z.eqb_spec o other) as [->|D]; [reflexivity|]. apply IH. destruct I as [->|I]; [contradiction|exact I].
  Qed.

  Lemma sent_against_is other k p l others units y u : In other others -> other <> y -> nth_error (ruled_terms l) k = Some p ->
    sent_against other k (sent_by l others units y u) = sent_once_by l (fun i => snd p i y - snd p i other) (units u) (get (tabulate (units u))).
  Proof.
    intros IO D KP. unfold sent_against, sent_by. cbn zeta. generalize (get (tabulate (units u))). intros own.
    rewrite (find_against (fun o => map (fun q => sent_once_by l (fun i => snd q i y - snd q i o) (units u) own) (ruled_terms l)))
      by (apply filter_In; split; [exact IO|apply negb_true_iff, Z.eqb_neq; exact D]). cbn [snd].
    exact (nth_error_nth _ _ _ (map_nth_error (fun q => sent_once_by l (fun i => snd q i y - snd q i other) (units u) own) _ _ KP)).
  Qed.

  Lemma sent_once_holds l below (column : (Z -> Z -> Z) -> Z -> Z) p u (units own : Z -> carried) : (forall i, own i = units i) ->
    (forall i, In i (ids (ruled_inputs l)) -> holds (units i) (zpassed (on_graph below h) i (zvalue (on_graph below h) V u i))) ->
    holds (sent_once_by l (column (snd p)) units own) (message_value l below column p u).
  Proof.
    intros SAME U. pose proof (through_holds l below column p u units U) as H. unfold sent_once_by. cbn zeta.
    assert (through (ruled_inputs l) (column (snd p)) own = through (ruled_inputs l) (column (snd p)) units) as ->
      by (unfold through; f_equal; apply map_ext; intros i; rewrite SAME; reflexivity).
    destruct (through (ruled_inputs l) (column (snd p)) units) as [a b [c]]. exact H.
  Qed.

  Lemma margin_holds l0 w0 net others classes t y other : once = sent_first l0 w0 V -> lowest net classes = Some (l0, w0) -> 0 <= y < classes -> 0 <= other < classes ->
    In other others -> other <> y -> incl (rows_read g net [t]) near ->
    holds (margin_at E g is_open budget known once net others t y other) (zvalue (on_graph net h) V t y - zvalue (on_graph net h) V t other).
  Proof.
    intros SENT L Y OS IO D N. destruct net as [|l below]; [discriminate|]. cbn [margin_at]. rewrite !unit_value.
    assert (forall a b c d : Z, a + b - (c + d) = a - c + (b - d)) as K by (intros; lia). rewrite K. clear K.
    assert (zsum (map (fun p => (fst p, message_value l below (fun w i => w i y - w i other) p)) (ruled_terms l)) (fun w => zsum (by_rule (fst w) h t) (fun e => snd e * snd w (fst e))) =
      zsum (map (fun p => (fst p, message_value l below (fun w i => w i y) p)) (ruled_terms l)) (fun w => zsum (by_rule (fst w) h t) (fun e => snd e * snd w (fst e))) -
      zsum (map (fun p => (fst p, message_value l below (fun w i => w i other) p)) (ruled_terms l)) (fun w => zsum (by_rule (fst w) h t) (fun e => snd e * snd w (fst e)))) as <-.
    { rewrite !zsum_map. unfold Z.sub. rewrite <- zsum_opp, <- zsum_plus. apply zsum_ext. intros p. cbn [fst snd]. rewrite <- zsum_opp, <- zsum_plus. apply zsum_ext. intros e.
      unfold message_value. rewrite (zsum_ext _ (fun i => _ * (snd p i y + - snd p i other))
        (fun i => zpassed (on_graph below h) i (zvalue (on_graph below h) V (fst e) i) * snd p i y + - (zpassed (on_graph below h) i (zvalue (on_graph below h) V (fst e) i) * snd p i other)))
        by (intros; lia). rewrite zsum_plus, zsum_opp. lia. }
    apply unit_at_holds. destruct below as [|b below].
    - apply (sent_first_to_sends l (fun w i => w i y - w i other) _ t [t] (or_introl eq_refl) N).
      + cbn [lowest] in L. injection L as <- <-. rewrite SENT. unfold sent_first. rewrite map_map. cbn [fst]. apply map_id.
      + cbn [lowest] in L. injection L as <- <-. rewrite SENT. unfold sent_first. intros s x I. apply in_map_iff in I as (p & <- & I). cbn [fst snd]. rewrite (first_pick l classes x p (fun w => w y)) by exact I.
        unfold at_place. rewrite !(nth_ids (fun j => zsum (ids (ruled_inputs l)) (fun i0 => V x i0 * snd p i0 j))) by assumption.
        unfold Z.sub at 1. rewrite <- zsum_opp, <- zsum_plus. apply zsum_ext. intros i. lia.
    - apply (combined_sends l (b :: below) (fun w i => w i y - w i other) t [t] _ (or_introl eq_refl) N). apply at_places. intros k p KP x X. rewrite Nat.add_0_l.
      rewrite !get_tabulate, (sent_against_is other k p l others (passes (b :: below)) y x IO D KP). apply (sent_once_holds l (b :: below) (fun w i => w i y - w i other) p x); [intros i; apply get_tabulate|].
      intros i I0. apply (passed_by_holds l0 w0 SENT (b :: below) (ruled_inputs l) (sources (terms (layer_on g l)) [t])); [exact L|exact X|apply ids_in; exact I0|].
      intros z Z0. apply N. cbn [rows_read]. apply in_or_app. right. apply in_or_app. right. exact Z0.
  Qed.

  (* Without the removals that lower it most a number stays positive. *)
  Lemma lowering_sound most from : forall l keys, NoDup (map snd l) -> lowering most budget from l = Some keys -> (forall k, In k keys -> ind k = 0) ->
    0 < from + zsum l (fun e => fst e * ind (snd e)).
  Proof.
    induction most as [|fewer IH]; intros l keys ND H K; cbn [lowering] in H;
      (destruct (Z.ltb_spec 0 (from - top budget (map (fun e => - fst e) l))) as [T|T];
        [clear H; pose proof (top_sound (map (fun e => (snd e, - fst e)) l)) as S; rewrite !map_map, zsum_map in S; cbn [fst snd] in S; specialize (S ND);
         rewrite (zsum_ext l (fun a => - fst a * ind (snd a)) (fun a => - (fst a * ind (snd a)))) in S by (intros; lia); rewrite zsum_opp in S; lia|]); [discriminate|].
    destruct l as [|e l]; [discriminate|]. destruct (lowering fewer budget from l) as [more|] eqn:R; [|discriminate]. injection H as <-. rewrite zsum_cons, (K (snd e)) by (left; reflexivity).
    cbn [map] in ND. apply NoDup_cons_iff in ND as [_ ND]. pose proof (IH l more ND R (fun k I => K k (or_intror I))). lia.
  Qed.

  Lemma all_lowering_sound {A} (f : A -> carried) others : forall keys, all_lowering budget (map f others) = Some keys -> (forall k, In k keys -> ind k = 0) ->
    forall other x, In other others -> holds (f other) x -> 0 < x.
  Proof.
    induction others as [|o others IH]; intros keys H K other x IO HO; [destruct IO|]. cbn [map all_lowering] in H.
    destruct (lowering 64 budget (start (f o)) _) as [a|] eqn:LA; [|discriminate]. destruct (all_lowering budget (map f others)) as [b|] eqn:LB; [|discriminate]. injection H as <-.
    destruct IO as [->|IO]; [|apply (IH b eq_refl (fun k I => K k (in_or_app a b k (or_intror I))) other x IO HO)].
    destruct HO as ([H1 _] & R & _). pose proof (Permutation_map snd (sort_perm (map (fun e => (snd e, fst e)) (least (f other))))) as P. rewrite map_map in P. cbn [snd] in P.
    apply lowering_sound in LA; [|exact (Permutation_NoDup (Permutation_sym P) (rising_nodup _ R))|intros k I; apply K, in_or_app; left; exact I].
    rewrite (zsum_perm _ _ _ (sort_perm (map (fun e => (snd e, fst e)) (least (f other))))), zsum_map in LA. cbn [fst snd] in LA. unfold part in H1. lia.
  Qed.
End Carried.

(* The sets of a path. *)
Lemma no_repeats_nodup l : no_repeats l = true -> NoDup l.
Proof.
  induction l as [|a l IH]; intros H; constructor; cbn [no_repeats] in H; apply andb_prop in H as [H1 H2]; auto. intros I. apply negb_true_iff in H1.
  assert (existsb (Z.eqb a) l = true); [|congruence]. apply existsb_exists. exists a. split; [exact I|apply Z.eqb_refl].
Qed.

Lemma row_nodup l : ascending (map (fun u => (u, tt)) l) || no_repeats l = true -> NoDup l.
Proof.
  intros H. apply orb_prop in H as [H|H]; [|apply no_repeats_nodup; exact H]. apply ascending_nodup in H. rewrite map_map in H. cbn [fst] in H. rewrite map_id in H. exact H.
Qed.

Lemma count_bits {A} (f : A -> bool) l : zsum l (fun a => bit (f a)) = Z.of_nat (length (filter f l)).
Proof. induction l as [|a l IH]; [reflexivity|]. rewrite zsum_cons, IH. cbn [filter]. destruct (f a); cbn [bit length]; lia. Qed.

Lemma split_length {A} (f : A -> bool) l : (length (filter f l) + length (filter (fun x => negb (f x)) l) = length l)%nat.
Proof. induction l as [|a l IH]; [reflexivity|]. cbn [filter]. destruct (f a); cbn [negb length]; lia. Qed.

Section Path.
  Variables (net : list (ruled Z)) (classes : Z) (E : edge_problem) (V : zrows).
  Variable r : edges_ready.
  Hypothesis READY : prepare_changes net classes E V = Some r.

  Lemma ready_prepared : prepare_edges net classes E V = Some (prepared_edges r).
  Proof. unfold prepare_changes in READY. destruct (prepare_edges net classes E V) as [p|]; [|discriminate]. injection READY as <-. reflexivity. Qed.

  (* What is kept is what would be computed. *)
  Lemma unchanged_is : unchanged r = None \/ unchanged r = Some (after (prepared_edges r) (ids classes) [] []).
  Proof.
    unfold prepare_changes in READY. destruct (prepare_edges net classes E V) as [p|]; [|discriminate]. injection READY as <-. cbn [unchanged prepared_edges].
    destruct net as [|l1 [|l2 [|l3 rest]]]; [right|right|right|left]; reflexivity.
  Qed.

  Lemma known_after_is others made left_out : exists all, known_after r others made left_out = after (prepared_edges r) all made left_out /\
    forall other, In other others -> 0 <= other < classes -> In other all.
  Proof.
    unfold known_after. destruct unchanged_is as [->| ->]; [exists others; split; [reflexivity|auto]|].
    destruct made as [|c made]; [destruct left_out as [|c left_out]|]; [exists (ids classes)|exists others|exists others]; (split; [reflexivity|]); [|auto|auto].
    intros other _ H. apply ids_in. exact H.
  Qed.

  Lemma critical_sound t y others made left_out matter : NoDup made -> critical r t y others made left_out = Some matter ->
    forall C, (forall c, In c matter -> In c C -> In c made) -> covered E (kept net V t y others) made left_out C.
  Proof.
    intros ND H C MATTER A I L other IO. destruct (known_after_is others made left_out) as (all & KNOWN & ALL). pose proof ready_prepared as PREPARED. set (p := prepared_edges r) in *.
    destruct (same_problem net classes E V p PREPARED) as (Ep & En & Ec & Ei).
    unfold critical in H. cbn zeta in H. fold p in H. rewrite KNOWN in H. unfold after in H. cbn zeta in H. cbn [removes_only margin_of] in H.
    unfold is_open_after, room_after, budget_after in H. rewrite Ep, En, Ec in H. set (g := graph_after p made) in *. set (near := each_once (rows_read g net [t])) in *.
    set (is_open := fun c : edge => _) in H. set (budget := most_changes E - size made) in *. set (room := fun v => Z.min budget (most_at E v - size (counted_at E v made))) in *.
    destruct (forallb _ near && _ && _ && _) eqn:CHECKS; [|discriminate].
    rewrite !andb_true_iff, !forallb_forall, Z.leb_le, Z.ltb_lt in CHECKS. destruct CHECKS as (((HF & Y0) & Y1) & HO).
    assert (forall v, In v near -> forallb (removes E) (get (into p) v) = true) as HR by (intros v X; specialize (HF v X); rewrite get_tabulate in HF; apply andb_prop in HF; apply HF).
    assert (forall v, In v near -> ascending (map (fun u => (u, tt)) (g v)) || no_repeats (g v) = true) as HN by (intros v X; specialize (HF v X); rewrite get_tabulate in HF; apply andb_prop in HF; apply HF).
    destruct (all_lowering budget _) as [keys|] eqn:LOW; [|discriminate]. injection H as <-.
    set (T := filter (fun c => negb (among c made)) C).
    set (decode := fun k => (k / node_count E, k mod node_count E)) in *.
    set (ind := fun k => bit (among (decode k) T)). set (cut := fun u v => among (named E u v) T).
    assert (forall f, In f T <-> In f C /\ ~ In f made) as TI.
    { intros f. unfold T. rewrite filter_In, negb_true_iff, among_false. reflexivity. }
    assert (NoDup C) as NC by apply A. assert (NoDup T) as NT by (apply NoDup_filter; exact NC).
    assert (forall f, In f T -> 0 <= fst f < node_count E /\ 0 <= snd f < node_count E /\ fst f <> snd f /\ (directed E = true \/ fst f < snd f)) as TR.
    { intros f X. apply TI in X as [X _]. destruct A as (_ & _ & P & _). destruct (P f X) as (P1 & P2 & P3 & P4 & _). auto. }
    assert (forall f, In f T -> is_open f = true) as TO.
    { intros f X. apply TI in X as [IC NM]. unfold is_open. rewrite andb_true_iff, negb_true_iff, orb_false_iff, !among_false. split; [split; [exact NM|intros X; exact (L f X IC)]|].
      apply (smaller_admissible E (f :: made) C); [constructor; assumption| |exact A]. intros x [<-|X]; auto. }
    assert (forall k, ind k = 0 \/ ind k = 1) as IND by (intros k; unfold ind; destruct (among (decode k) T); [right|left]; reflexivity).
    assert (Z.of_nat (length T) <= budget) as TB.
    { unfold budget, T, size. pose proof (split_length (fun c => among c made) C) as S.
      assert (length made <= length (filter (fun c => among c made) C))%nat as M.
      { apply NoDup_incl_length; [exact ND|]. intros c X. apply filter_In. split; [apply I; exact X|apply among_spec; exact X]. }
      destruct A as (_ & A & _). unfold size in A. unfold edge, flip in *. lia. }
    assert (forall ks, NoDup ks -> zsum ks ind <= budget) as BUDGET.
    { intros ks NK. unfold ind. rewrite count_bits. assert (length (filter (fun k => among (decode k) T) ks) <= length T)%nat; [|lia].
      rewrite <- (map_length decode (filter (fun k => among (decode k) T) ks)). apply NoDup_incl_length.
      - assert (T = [] \/ node_count E <> 0) as [TE|NZ].
        { destruct T as [|f rest]; [left; reflexivity|right]. destruct (TR f (or_introl eq_refl)). lia. }
        + rewrite TE. cbn. assert (forall l : list Z, filter (fun _ => false) l = []) as -> by (induction l; auto). constructor.
        + assert (forall a b, decode a = decode b -> a = b) as INJ.
          { intros a b Q. unfold decode in Q. injection Q. intros Q1 Q2. rewrite (Z.div_mod a (node_count E)), (Z.div_mod b (node_count E)) by exact NZ. rewrite Q1, Q2. reflexivity. }
          apply (NoDup_filter (fun k => among (decode k) T)) in NK. induction NK as [|k l NI NK IH]; cbn [map]; constructor; [|exact IH].
          intros X. apply in_map_iff in X as (k' & Q & X). apply INJ in Q. subst. contradiction.
      - intros f X. apply in_map_iff in X as (k & <- & X). apply filter_In in X as [_ X]. apply among_spec. exact X. }
    assert (forall u v, is_open (named E u v) = true -> ind (key_of E u v) = bit (cut u v)) as CUT.
    { intros u v O. unfold is_open in O. apply andb_prop in O as [_ O]. unfold is_admissible_changes in O. rewrite !andb_true_iff in O. destruct O as [[_ O] _]. cbn [forallb] in O.
      apply andb_prop in O as [O _]. apply is_permitted_spec in O as (O1 & O2 & _). unfold ind, cut. f_equal. f_equal. unfold decode, key_of. cbn zeta. destruct (named E u v) as [a b]. cbn [fst snd] in *.
      f_equal.
      - rewrite Z.div_add_l by lia. rewrite Z.div_small by lia. lia.
      - rewrite Z.add_comm, Z.mod_add by lia. apply Z.mod_small. lia. }
    assert (forall u v, is_open (named E u v) = false -> cut u v = false) as OPEN.
    { intros u v O. destruct (cut u v) eqn:X; [|reflexivity]. unfold cut in X. apply among_spec in X. rewrite (TO _ X) in O. discriminate. }
    assert (forall v, cut v v = false) as SELF.
    { intros v. destruct (cut v v) eqn:X; [|reflexivity]. unfold cut in X. apply among_spec, TR in X as (_ & _ & D & _). unfold named in D. destruct (directed E || Z.ltb v v); cbn in D; lia. }
    assert (forall u v, cut u v = true <-> In (u, v) (arcs E T)) as CA.
    { intros u v. unfold cut. rewrite among_spec, arcs_in. cbn [fst snd]. unfold named. destruct (directed E) eqn:D; cbn [orb].
      - split; [auto|]. intros [X|[X _]]; [exact X|discriminate].
      - destruct (Z.ltb_spec u v) as [Q|Q]; (split; [auto|]); intros [X|[_ X]]; auto; exfalso; destruct (TR _ X) as (_ & _ & _ & [Y|Y]); try discriminate; cbn [fst snd] in Y; lia. }
    assert (forall u v, In (named E u v) C -> In (named E u v) (changes_into E v)) as INTO.
    { intros u v X. unfold changes_into. apply filter_In. destruct A as (_ & _ & P & _). pose proof (P _ X) as Q. split; [|apply is_permitted_spec; exact Q].
      unfold named in *. destruct (directed E) eqn:D; cbn [orb] in *; [|destruct (Z.ltb u v)]; cbn [fst snd] in Q; apply in_or_app.
      - left. apply (in_map (fun u => (u, v))). apply ids_in. apply Q.
      - left. apply (in_map (fun u => (u, v))). apply ids_in. apply Q.
      - right. apply (in_map (fun u => (v, u))). apply ids_in. apply Q. }
    assert (forall u v, In v near -> cut u v = true -> In u (graph_of E v)) as PRESENT.
    { intros u v IN X. unfold cut in X. apply among_spec, TI in X as [X _]. specialize (HR v IN). rewrite forallb_forall in HR. specialize (HR (named E u v)). rewrite Ei in HR.
      specialize (HR (INTO u v X)). unfold removes in HR. apply andb_prop in HR as [R1 R2].
      assert (forall a b, existsb (Z.eqb a) (graph_of E b) = true -> In a (graph_of E b)) as G by (intros a b R; apply existsb_exists in R as (x & R & Q); apply Z.eqb_eq in Q; subst x; exact R).
      unfold named in *. destruct (directed E) eqn:D; cbn [orb] in *; [apply G; exact R1|]. destruct (Z.ltb u v); cbn [fst snd] in *; apply G; assumption. }
    assert (forall a, In a (arcs E C) <-> In a (arcs E made) \/ In a (arcs E T)) as SPLIT.
    { intros a. rewrite !arcs_in, !TI. split.
      - intros [X|[D X]].
        + destruct (among a made) eqn:M; [apply among_spec in M; left; left; exact M|apply among_false in M; right; left; split; assumption].
        + destruct (among (snd a, fst a) made) eqn:M; [apply among_spec in M; left; right; split; assumption|apply among_false in M; right; right; split; [exact D|split; assumption]].
      - intros [[X|[D X]]|[[X _]|[D [X _]]]]; auto. }
    assert (forall v, In v near -> Permutation (changed_graph E C v) (filter (fun u => negb (cut u v)) (g v))) as RED.
    { intros v IN. unfold g. rewrite (graph_after_spec net classes E V p PREPARED). unfold changed_graph. rewrite filter_app. apply Permutation_app.
      - rewrite filter_filter. rewrite (filter_ext_in _ (fun x => negb (existsb (same (x, v)) (arcs E made)) && negb (cut x v))); [reflexivity|]. intros u _.
        change (negb (among (u, v) (arcs E C)) = negb (among (u, v) (arcs E made)) && negb (cut u v)). rewrite <- negb_orb. f_equal. apply eq_true_iff_eq.
        rewrite orb_true_iff, !among_spec, CA. apply SPLIT.
      - apply NoDup_Permutation.
        + apply NoDup_filter, into_nodup, arcs_nodup, (admissible_named E C A).
        + apply NoDup_filter, NoDup_filter, into_nodup, arcs_nodup, (smaller_named E made C ND I A).
        + intros u. rewrite !filter_In, !in_map_iff.
          assert (forall B, (exists x : edge, fst x = u /\ In x (filter (fun a : edge => Z.eqb (snd a) v) B)) <-> In (u, v) B) as K.
          { intros B. split.
            - intros (x & Q & X). apply filter_In in X as [X1 X2]. apply Z.eqb_eq in X2. destruct x as [x1 x2]. cbn [fst snd] in *. subst. exact X1.
            - intros X. exists (u, v). split; [reflexivity|]. apply filter_In. split; [exact X|apply Z.eqb_refl]. }
          rewrite !K, SPLIT, !negb_true_iff. assert (In (u, v) (arcs E T) -> existsb (Z.eqb u) (graph_of E v) = true) as G.
          { intros X. apply CA in X. apply existsb_exists. exists u. split; [exact (PRESENT u v IN X)|apply Z.eqb_refl]. }
          split.
          * intros [[X|X] Y]; [|rewrite (G X) in Y; discriminate]. split; [split; [exact X|exact Y]|]. destruct (cut u v) eqn:Z0; [|reflexivity].
            apply CA in Z0. rewrite (G Z0) in Y. discriminate.
          * intros [[X Y] _]. auto. }
    assert (forall v, In v near -> Z.of_nat (length (filter (fun u => cut u v) (g v))) <= capacity E g is_open room v) as ROOM.
    { intros v IN. unfold capacity. destruct (filter (fun u => cut u v) (g v)) as [|u0 rest] eqn:EF; [cbn [length]; lia|]. rewrite <- EF.
      etransitivity; [|apply Z.le_max_r].
      assert (In u0 (filter (fun u => cut u v) (g v))) as U0 by (rewrite EF; left; reflexivity). clear EF rest. pose proof (row_nodup (g v) (HN v IN)) as NR. apply Z.min_glb.
      - set (end_of := fun f : edge => if Z.eqb (snd f) v then fst f else snd f).
        assert (forall u, cut u v = true -> exists f, In f (counted_at E v T) /\ end_of f = u) as ENDS.
        { intros u X. apply CA, arcs_in in X as [X|[D X]]; cbn [fst snd] in X; [exists (u, v)|exists (v, u)]; (split; [apply counted_at_in; split; [exact X|]; cbn [fst snd]; auto|]);
            unfold end_of; cbn [fst snd]; [rewrite Z.eqb_refl; reflexivity|]. destruct (Z.eqb_spec u v); [subst; reflexivity|reflexivity]. }
        assert (length (filter (fun u => cut u v) (g v)) <= length (counted_at E v T))%nat as D.
        { rewrite <- (map_length end_of (counted_at E v T)). apply NoDup_incl_length; [apply NoDup_filter; exact NR|]. intros u X. apply filter_In in X as [_ X].
          destruct (ENDS u X) as (f & X1 & X2). apply in_map_iff. exists f. auto. }
        set (at_v := fun c : edge => Z.eqb (snd c) v || (negb (directed E) && Z.eqb (fst c) v)).
        assert (forall B, counted_at E v B = filter at_v B) as CT by reflexivity.
        unfold room. apply Z.min_glb.
        + pose proof (split_length at_v T). rewrite CT in D. unfold edge, flip in *. lia.
        + apply filter_In in U0 as [_ U0]. destruct (ENDS u0 U0) as (f & F1 & _). apply counted_at_in in F1 as [F1 F2]. apply TI in F1 as [F1 _].
          destruct A as (_ & _ & _ & W). destruct (W v) as [W0|[W1 _]].
          * assert (In f (counted_at E v C)) as X by (apply counted_at_in; auto). rewrite W0 in X. destruct X.
          * pose proof (split_length (fun c => among c made) (filter at_v C)) as S. rewrite !filter_filter in S.
            assert (length (filter at_v made) <= length (filter (fun x => at_v x && among x made) C))%nat as S1.
            { apply NoDup_incl_length; [apply NoDup_filter; exact ND|]. intros c X. apply filter_In in X as [X1 X2]. apply filter_In. split; [apply I; exact X1|].
              rewrite X2. cbn [andb]. apply among_spec. exact X1. }
            assert (filter (fun x => at_v x && negb (among x made)) C = counted_at E v T) as S2.
            { unfold T, counted_at. rewrite filter_filter. apply filter_ext. intros c. unfold at_v. apply andb_comm. }
            rewrite S2 in S. rewrite CT in W1. rewrite (CT made). unfold size in *. unfold edge, flip in *. lia.
      - assert (length (filter (fun u => cut u v) (g v)) <= length (open_into E g is_open v))%nat; [|lia].
        apply NoDup_incl_length; [apply NoDup_filter, NR|]. intros u X. apply filter_In in X as [X1 X2]. apply filter_In. split; [exact X1|].
        unfold cut in X2. apply TO, among_spec, X2. }
    unfold prepare_edges in PREPARED. destruct (lowest net classes) as [[l0 w0]|] eqn:LO; [|discriminate].
    assert (sent_once p = sent_first l0 w0 V) as SENT by (injection PREPARED as <-; reflexivity).
    assert (incl (rows_read g net [t]) near) as NR by (intros v X; apply each_once_in; exact X).
    assert (forall o, In o others -> 0 <= o < classes /\ o <> y) as OS
      by (intros o X; specialize (HO o X); rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt, negb_true_iff, Z.eqb_neq in HO; intuition lia).
    assert (forall k, In k keys -> ind k = 0) as K0.
    { intros k X. unfold ind. destruct (among (decode k) T) eqn:Y; [|reflexivity]. apply among_spec, TI in Y as [Y1' Y2]. destruct Y2. apply MATTER; [|exact Y1']. apply in_map. exact X. }
    destruct (OS other IO) as [O1 O2].
    pose proof (margin_holds E g (changed_graph E C) is_open budget room ind cut near IND BUDGET CUT OPEN SELF RED ROOM V (sent_once p) l0 w0 net all classes t y other SENT LO (conj Y0 Y1) O1 (ALL other IO O1) O2 NR) as M.
    pose proof (all_lowering_sound budget ind IND BUDGET _ others keys LOW K0 other _ IO M). lia.
  Qed.
End Path.

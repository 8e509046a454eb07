(* What removals can do to a number is what is carried with it. *)
From Coq Require Import ZArith List Bool Lia Permutation.
From Verified Require Import Spec Sums Tables Rules Integers Checker Forward Trees Sound Collective CollectiveWorth Edges EdgesBound EdgesSound.
Import ListNotations.
Open Scope Z_scope.

Lemma minimum_le {A} (l : list A) f a : In a l -> minimum l f <= f a.
Proof.
  destruct l as [|b l]; [intros []|]. cbn [minimum]. intros I. revert a I. induction l as [|c l IH]; intros a I; cbn [fold_right].
  - destruct I as [->|[]]. lia.
  - destruct I as [->|[->|I]]; [specialize (IH a (or_introl eq_refl)); lia|lia|specialize (IH a (or_intror I)); lia].
Qed.

Lemma low_product_le d range x : fst range <= x <= snd range -> low_product d range <= d * x.
Proof. intros H. unfold low_product. destruct (Z.leb_spec 0 d); nia. Qed.

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

Section Carried.
  Variables (E : edge_problem) (g h : graph) (F : list edge) (budget : Z) (room : Z -> Z) (ind : edge -> Z) (cut : Z -> Z -> bool) (near : list Z).
  Hypothesis IND : forall f, ind f = 0 \/ ind f = 1.
  Hypothesis BUDGET : zsum F ind <= budget.
  Hypothesis CUT : forall u v, In v near -> zsum F (fun f => bit (has_arc E f u v) * ind f) = bit (cut u v).
  Hypothesis RED : forall v, In v near -> Permutation (h v) (filter (fun u => negb (cut u v)) (g v)).
  Hypothesis ROOM : forall v, In v near -> Z.of_nat (length (filter (fun u => cut u v) (g v))) <= capacity E g F room v.

  Definition part (k : list Z) : Z := against F k ind.

  Lemma part_vadd a b : part (vadd a b) = part a + part b.
  Proof. apply against_vadd. Qed.
  Lemma part_vscale c a : part (vscale c a) = c * part a.
  Proof. apply against_vscale. Qed.
  Lemma part_nil : part [] = 0.
  Proof. unfold part, against. destruct F; reflexivity. Qed.
  Lemma part_vsum {A} (l : list A) f : part (vsum l f) = zsum l (fun a => part (f a)).
  Proof. induction l as [|a l IH]; cbn [vsum fold_right]; [apply part_nil|]. rewrite part_vadd, zsum_cons. fold (vsum l f). rewrite IH. reflexivity. Qed.

  Lemma part_largest xs : part xs <= largest budget xs.
  Proof.
    apply largest_sound. intros above AB. transitivity (above * zsum F ind + zsum xs (fun x => pos (x - above))); [|nia].
    unfold part, against. clear BUDGET CUT ROOM. revert xs. induction F as [|f G IH]; intros xs.
    - cbn [combine]. rewrite !zsum_nil. assert (0 <= zsum xs (fun x => pos (x - above))) by (apply zsum_nonneg; intros; unfold pos; lia). lia.
    - destruct xs as [|x xs]; cbn [combine].
      + rewrite !zsum_nil. assert (0 <= zsum (f :: G) ind) by (apply zsum_nonneg; intros e _; destruct (IND e); lia). nia.
      + rewrite !zsum_cons. cbn [fst snd]. specialize (IH xs). unfold pos in *. destruct (IND f) as [->| ->]; nia.
  Qed.

  Lemma part_mono l a b : (forall x : Z, In x l -> a x <= b x) -> part (map a l) <= part (map b l).
  Proof.
    unfold part, against. clear BUDGET CUT ROOM. revert l. induction F as [|f G IH]; intros l H; [reflexivity|]. destruct l as [|x l]; [reflexivity|].
    cbn [map combine]. rewrite !zsum_cons. cbn [fst snd]. assert (a x <= b x) by (apply H; left; reflexivity).
    assert (forall x, In x l -> a x <= b x) as H' by (intros; apply H; right; assumption). specialize (IH l H'). destruct (IND f) as [->| ->]; nia.
  Qed.

  Lemma part_same l : part (map (fun x => x) l) = part l.
  Proof. rewrite map_id. reflexivity. Qed.

  Lemma part_zeros l : part (map (fun _ : Z => 0) l) = 0.
  Proof.
    unfold part, against. clear BUDGET CUT ROOM. revert l. induction F as [|f G IH]; intros l; [reflexivity|]. destruct l as [|x l]; [reflexivity|].
    cbn [map combine]. rewrite zsum_cons. cbn [fst snd]. rewrite IH. lia.
  Qed.

  Lemma part_nonneg l a : (forall x : Z, In x l -> 0 <= a x) -> 0 <= part (map a l).
  Proof. intros H. rewrite <- (part_zeros l). apply part_mono. exact H. Qed.

  Lemma part_times (l : list Z) (a : Z -> Z) c : part (map (fun x => c * a x) l) = c * part (map a l).
  Proof. rewrite <- part_vscale. unfold vscale. rewrite map_map. reflexivity. Qed.

  Definition holds (c : carried) (x : Z) : Prop := start c + part (least c) <= x <= start c + part (most c).

  Lemma holds_range c x : holds c x -> fst (range_of budget c) <= x <= snd (range_of budget c).
  Proof.
    unfold holds, range_of. cbn [fst snd]. intros H. pose proof (part_largest (vscale (-1) (least c))) as L. pose proof (part_largest (most c)).
    rewrite part_vscale in L. lia.
  Qed.

  Lemma holds_constant x : holds (constant x) x.
  Proof. unfold holds, constant. cbn [start least most]. rewrite part_nil. lia. Qed.

  Lemma holds_plus c d x z : holds c x -> holds d z -> holds (plus c d) (x + z).
  Proof. unfold holds, plus. cbn [start least most]. rewrite !part_vadd. lia. Qed.

  Lemma holds_times a c x : holds c x -> holds (times a c) (a * x).
  Proof. unfold holds, times. destruct (Z.leb_spec 0 a); cbn [start least most]; rewrite !part_vscale; nia. Qed.

  Lemma holds_total {A} (l : list A) f (x : A -> Z) : (forall a, In a l -> holds (f a) (x a)) -> holds (total_of l f) (zsum l x).
  Proof.
    induction l as [|a l IH]; intros H; [apply holds_constant|]. rewrite zsum_cons. cbn [total_of fold_right]. apply holds_plus; [apply H; left; reflexivity|].
    apply IH. intros b I. apply H. right. exact I.
  Qed.

  Lemma clipped_part s l : 0 <= s -> let m x := Z.max (Z.min x 0) (- s) in
    part (map m l) <= 0 /\ (part (map m l) <= - s \/ part (map m l) <= part l).
  Proof.
    intros S m. unfold part, against. clear BUDGET CUT ROOM. revert l. induction F as [|f G IH]; intros l; [cbn; lia|]. destruct l as [|x l]; [cbn; lia|].
    cbn [map combine]. rewrite !zsum_cons. cbn [fst snd]. destruct (IH l) as [I1 I2]. unfold m in *. destruct (IND f) as [->| ->]; lia.
  Qed.

  Lemma holds_activated c x : holds c x -> holds (activated budget c) (pos x).
  Proof.
    intros H. pose proof (holds_range c x H) as R. unfold activated. destruct (range_of budget c) as [low high]. cbn [fst snd] in R.
    destruct (Z.leb_spec 0 low) as [L|L]; [replace (pos x) with x by (unfold pos; lia); exact H|].
    destruct (Z.leb_spec high 0) as [U|U]; [replace (pos x) with 0 by (unfold pos; lia); apply holds_constant|].
    destruct H as [H1 H2]. assert (part (most c) <= part (map pos (most c))) as P by (rewrite <- part_same at 1; apply part_mono; intros; unfold pos; lia).
    assert (0 <= part (map pos (most c))) as Q by (apply part_nonneg; intros; unfold pos; lia).
    destruct (Z.leb_spec 0 (start c)) as [S|S]; unfold holds; cbn [start least most].
    - destruct (clipped_part (start c) (least c) S) as [C1 C2]. unfold pos in *. lia.
    - rewrite part_nil. split; [unfold pos; lia|]. set (a := fun y => - (- (pos y * high) / (high - start c))).
      assert (forall y, pos y * high <= (high - start c) * a y) as A.
      { intros y. unfold a. pose proof (divided_le (- (pos y * high)) (high - start c)). nia. }
      assert (high * part (map pos (most c)) <= (high - start c) * part (map a (most c))) as B.
      { rewrite <- !part_times. apply part_mono. intros y _. specialize (A y). lia. }
      assert (0 <= part (map a (most c))) as N. { apply part_nonneg. intros y _. specialize (A y). unfold pos in A. nia. }
      unfold pos. destruct (Z.max_spec x 0) as [[M ->]|[M ->]]; [lia|].
      assert ((high - start c) * x <= high * (x - start c)) by nia. nia.
  Qed.

  (* Rows. *)
  Notation known := (rows_known E g F room).
  Definition removed (v : Z) : Z := Z.of_nat (length (filter (fun u => cut u v) (g v))).

  Lemma removed_sum v : zsum (g v) (fun u => bit (cut u v)) = removed v.
  Proof.
    unfold removed. induction (g v) as [|u l IH]; [reflexivity|]. rewrite zsum_cons, IH. cbn [filter]. destruct (cut u v); cbn [bit length]; lia.
  Qed.

  Lemma arc_part u v : In v near -> part (arc_vector E F u v) = bit (cut u v).
  Proof. intros N. unfold part, arc_vector. rewrite against_map. apply CUT. exact N. Qed.

  Lemma row_part v : In v near -> part (row_vector E g F v) = removed v.
  Proof. intros N. unfold row_vector. rewrite part_vsum, <- removed_sum. apply zsum_ext. intros u. apply arc_part. exact N. Qed.

  Lemma size_removed itself v : In v near -> Spec.size_of itself h v = Spec.size_of itself g v - removed v.
  Proof.
    intros N. unfold Spec.size_of, received, removed. pose proof (Permutation_length (RED v N)) as L.
    assert (forall l, (length (filter (fun u => negb (cut u v)) l) + length (filter (fun u => cut u v) l) = length l)%nat) as S.
    { induction l as [|u l IH]; [reflexivity|]. cbn [filter]. destruct (cut u v); cbn [negb length]; lia. }
    specialize (S (g v)). destruct (itself v); cbn [length]; lia.
  Qed.

  Lemma received_sum itself v f : In v near ->
    zsum (received itself h v) f = zsum (received itself g v) f - zsum (g v) (fun u => bit (cut u v) * f u).
  Proof.
    intros N. assert (zsum (h v) f = zsum (g v) f - zsum (g v) (fun u => bit (cut u v) * f u)) as S.
    { rewrite (zsum_perm _ _ f (RED v N)), zsum_filter. induction (g v) as [|u l IH]; [reflexivity|]. rewrite !zsum_cons, IH. destruct (cut u v); cbn [negb bit]; lia. }
    unfold received. destruct (itself v); rewrite ?zsum_cons; lia.
  Qed.

  Section Term.
    Variables (itself : Z -> bool) (entry : Z -> Z -> Z) (by_senders : bool) (v : Z).
    Hypothesis NEAR : In v near.
    Hypothesis SENDERS : by_senders = true -> forall u, In u (received itself g v) -> In u near.
    Hypothesis INDEPENDENT : by_senders = false -> forall i a b, entry i a = entry i b.
    Let n := Spec.size_of itself g v.
    Let value (m : Z -> Z) : Z := zsum (received itself h v) (fun u => entry (Spec.size_of itself h v) (Spec.size_of itself h u) * m u).

    Lemma shrunk u : In u (received itself g v) -> exists q, In q (shrinks known by_senders u) /\
      (forall i, entry i (Spec.size_of itself h u) = entry i (Spec.size_of itself g u - q)) /\ (by_senders = true -> q = removed u).
    Proof.
      intros I. unfold shrinks. destruct by_senders.
      - exists (removed u). specialize (SENDERS eq_refl u I). split; [|split; [intros i; rewrite size_removed by assumption; reflexivity|reflexivity]].
        apply ids_in. cbn [rows_known capacities]. rewrite get_tabulate. pose proof (ROOM u SENDERS). unfold removed. lia.
      - exists 0. split; [left; reflexivity|]. split; [intros i; apply INDEPENDENT; reflexivity|discriminate].
    Qed.

    Lemma charges_least range m : (forall u, In u (received itself g v) -> fst (range u) <= m u <= snd (range u)) ->
      zsum (received itself g v) (fun u => entry n (Spec.size_of itself g u) * m u) + part (charges g known itself entry by_senders v range) <= value m.
    Proof.
      intros R. unfold charges. rewrite part_vadd, part_vsum. cbn [rows_known arcs_into capacities]. rewrite !get_tabulate. rewrite zsum_map. cbn [fst snd].
      fold n. set (shares := map _ _). set (s' := fun u => Spec.size_of itself h u).
      assert (incl (g v) (received itself g v)) as SUB by (unfold received; destruct (itself v); [intros x I; right; exact I|apply incl_refl]).
      set (n' := Spec.size_of itself h v). assert (n' = n - removed v) as EN by (apply size_removed; exact NEAR).
      assert (part (if by_senders then vsum (received itself g v) (fun u => vscale (sender_charge g known itself entry v range u) (get (cuts_of known) u)) else [])
        <= zsum (received itself g v) (fun u => (entry n (s' u) - entry n (Spec.size_of itself g u)) * m u)) as B.
      { destruct by_senders eqn:S.
        - rewrite part_vsum. apply zsum_le_in. intros u I. rewrite part_vscale. cbn [rows_known cuts_of]. rewrite get_tabulate, row_part by (apply SENDERS; auto).
          pose proof (SENDERS eq_refl u I) as NU. unfold s'. rewrite size_removed by exact NU. set (s := Spec.size_of itself g u). pose proof (ROOM u NU) as C. fold (removed u) in C.
          assert (0 <= removed u) by (unfold removed; lia). destruct (Z.eq_dec (removed u) 0) as [Z0|NZ].
          + rewrite Z0, Z.sub_0_r, Z.sub_diag. lia.
          + unfold sender_charge. cbn [rows_known capacities]. rewrite get_tabulate. fold n s.
            pose proof (minimum_le (up_to (capacity E g F room u)) (fun q => low_product (entry n (s - q) - entry n s) (range u) / q) (removed u)) as M.
            cbn beta in M. assert (In (removed u) (up_to (capacity E g F room u))) as IN by (apply up_to_in; lia). specialize (M IN).
            pose proof (divided_le (low_product (entry n (s - removed u) - entry n s) (range u)) (removed u)).
            pose proof (low_product_le (entry n (s - removed u) - entry n s) (range u) (m u) (R u I)). nia.
        - rewrite part_nil. apply zsum_nonneg. intros u _. rewrite (INDEPENDENT eq_refl n (s' u) (Spec.size_of itself g u)). lia. }
      assert (zsum (g v) (fun u => part (vscale (charge g known itself entry by_senders v range shares u) (arc_vector E F u v)))
        <= zsum (received itself g v) (fun u => (entry n' (s' u) - entry n (s' u)) * m u) + zsum (g v) (fun u => bit (cut u v) * (- entry n' (s' u) * m u))) as A.
      { pose proof (ROOM v NEAR) as C. fold (removed v) in C. assert (0 <= removed v) by (unfold removed; lia). pose proof (removed_sum v) as RS.
        rewrite (zsum_ext (g v) _ (fun u => bit (cut u v) * charge g known itself entry by_senders v range shares u))
          by (intros u; rewrite part_vscale, arc_part by exact NEAR; lia).
        destruct (Z.eq_dec (removed v) 0) as [Z0|NZ].
        - rewrite Z0, Z.sub_0_r in EN. rewrite Z0 in RS.
          assert (forall u, In u (g v) -> bit (cut u v) = 0) as NONE.
          { intros u I. destruct (cut u v) eqn:K; [|reflexivity]. exfalso.
            assert (bit (cut u v) <= zsum (g v) (fun u => bit (cut u v))) as M by (apply (zsum_mem (g v) (fun u => bit (cut u v))); [exact I|intros b _; unfold bit; destruct (cut b v); lia]).
            rewrite K in M. unfold bit at 1 in M. lia. }
          rewrite (zsum_zero (g v)) by (intros u I; rewrite NONE by exact I; lia).
          rewrite (zsum_zero (g v)) by (intros u I; rewrite NONE by exact I; lia).
          rewrite EN, zsum_zero; [lia|]. intros u _. lia.
        - set (r := removed v) in *. assert (In (r, spread g known itself entry by_senders v range r / r) shares) as IS.
          { unfold shares. apply (in_map (fun r => (r, spread g known itself entry by_senders v range r / r))). apply up_to_in. lia. }
          transitivity (zsum (g v) (fun u => bit (cut u v) * (- entry n' (s' u) * m u)) + r * (spread g known itself entry by_senders v range r / r)).
          + rewrite <- RS at 1. rewrite <- zsum_scale_r, <- zsum_plus. apply zsum_le_in. intros u I. specialize (SUB u I).
            assert (charge g known itself entry by_senders v range shares u <= - entry n' (s' u) * m u + spread g known itself entry by_senders v range r / r) as K.
            { unfold charge. fold n. etransitivity; [apply (minimum_le shares _ _ IS)|]. cbn [fst snd]. destruct (shrunk u SUB) as (q & Q1 & Q2 & _).
              pose proof (minimum_le (shrinks known by_senders u) (fun q => low_product (- entry (n - r) (Spec.size_of itself g u - q)) (range u)) q Q1) as M. cbn beta in M.
              rewrite <- Q2 in M. fold n in EN. rewrite <- EN in M. pose proof (low_product_le (- entry n' (s' u)) (range u) (m u) (R u SUB)). unfold s' in *. rewrite <- EN. lia. }
            destruct (cut u v); cbn [bit]; lia.
          + pose proof (divided_le (spread g known itself entry by_senders v range r) r) as D. assert (0 < r) as RP by lia. specialize (D RP).
            assert (spread g known itself entry by_senders v range r <= zsum (received itself g v) (fun u => (entry n' (s' u) - entry n (s' u)) * m u)); [|lia].
            unfold spread. apply zsum_le_in. intros u I. fold n. destruct (shrunk u I) as (q & Q1 & Q2 & _).
            pose proof (minimum_le (shrinks known by_senders u) (fun q => low_product (entry (n - r) (Spec.size_of itself g u - q) - entry n (Spec.size_of itself g u - q)) (range u)) q Q1) as M.
            cbn beta in M. cbn zeta. rewrite <- !Q2 in M. rewrite <- EN in M.
            pose proof (low_product_le (entry n' (s' u) - entry n (s' u)) (range u) (m u) (R u I)). unfold s' in *. rewrite <- EN. lia. }
      unfold value. rewrite received_sum by exact NEAR. fold n'.
      assert (zsum (received itself g v) (fun u => entry n' (s' u) * m u) =
        zsum (received itself g v) (fun u => entry n (Spec.size_of itself g u) * m u) + zsum (received itself g v) (fun u => (entry n (s' u) - entry n (Spec.size_of itself g u)) * m u)
        + zsum (received itself g v) (fun u => (entry n' (s' u) - entry n (s' u)) * m u)) as S1 by (rewrite <- !zsum_plus; apply zsum_ext; intros; lia).
      assert (zsum (g v) (fun u => bit (cut u v) * (- entry n' (s' u) * m u)) = - zsum (g v) (fun u => bit (cut u v) * (entry n' (s' u) * m u))) as S2
        by (rewrite <- zsum_opp; apply zsum_ext; intros; lia).
      unfold s' in *. lia.
    Qed.

    Lemma term_of_holds message m : (forall u, In u (received itself g v) -> holds (message u) (m u)) ->
      holds (term_of g budget known itself entry by_senders v message) (value m).
    Proof.
      intros H. pose proof (holds_total (received itself g v) (fun u => times (entry n (Spec.size_of itself g u)) (message u)) _ (fun u I => holds_times _ _ _ (H u I))) as [B1 B2].
      unfold term_of, holds. cbn zeta. cbn [start least most]. fold n. rewrite !part_vadd, part_vscale.
      set (base := total_of _ _) in *. set (range := get _) in *.
      assert (forall u, In u (received itself g v) -> fst (range u) <= m u <= snd (range u)) as R.
      { intros u I. unfold range. rewrite get_tabulate. apply holds_range, H, I. }
      pose proof (charges_least range m R) as L.
      pose proof (charges_least (fun u => (- snd (range u), - fst (range u))) (fun u => - m u)) as U. cbn [fst snd] in U.
      assert (forall u, In u (received itself g v) -> - snd (range u) <= - m u <= - fst (range u)) as R' by (intros u I; specialize (R u I); lia). specialize (U R').
      assert (value (fun u => - m u) = - value m) as V1 by (unfold value; rewrite <- zsum_opp; apply zsum_ext; intros; lia).
      assert (zsum (received itself g v) (fun u => entry n (Spec.size_of itself g u) * - m u) = - zsum (received itself g v) (fun u => entry n (Spec.size_of itself g u) * m u)) as V2
        by (rewrite <- zsum_opp; apply zsum_ext; intros; lia).
      rewrite V1, V2 in U. lia.
    Qed.
  End Term.

  (* Layers. *)
  Definition heard (r : rule Z) (v : Z) : list Z := map fst (by_rule r g v).

  Lemma heard_received itself (entry : Z -> Z -> Z) v : heard (ByBoth itself entry) v = received itself g v.
  Proof. unfold heard. cbn [by_rule]. rewrite map_map. cbn [fst]. apply map_id. Qed.

  Lemma term_at_holds r v message m :
    (along_edges r = true -> In v near) -> (by_sender r = true -> forall u, In u (heard r v) -> In u near) ->
    (forall u, In u (heard r v) -> holds (message u) (m u)) ->
    holds (term_at g budget known r v message) (zsum (by_rule r h v) (fun e => snd e * m (fst e))).
  Proof.
    destruct r as [rows|itself entry|itself entry]; intros N S H; cbn [term_at by_rule].
    - apply (holds_total (rows v) _ (fun e => snd e * m (fst e))). intros e I. apply holds_times, H. unfold heard. cbn [by_rule]. apply in_map. exact I.
    - rewrite zsum_map. cbn [fst snd].
      apply (term_of_holds itself (fun i _ => entry i) false v (N eq_refl)); [discriminate|reflexivity|]. intros u I. apply H.
      change (heard (ByReceiver itself entry) v) with (heard (ByBoth itself (fun i _ => entry i)) v). rewrite heard_received. exact I.
    - rewrite zsum_map. cbn [fst snd]. rewrite heard_received in S, H.
      apply (term_of_holds itself entry true v (N eq_refl)); [intros _; exact (S eq_refl)|discriminate|exact H].
  Qed.

  Definition sends_to (v : Z) (t : rule Z * (Z -> carried)) (w : rule Z * (Z -> Z)) : Prop :=
    fst t = fst w /\ (along_edges (fst t) = true -> In v near) /\ (by_sender (fst t) = true -> forall u, In u (heard (fst t) v) -> In u near) /\
    forall u, In u (heard (fst t) v) -> holds (snd t u) (snd w u).

  Lemma unit_at_holds b v terms values : Forall2 (sends_to v) terms values ->
    holds (unit_at g budget known b v terms) (b + zsum values (fun w => zsum (by_rule (fst w) h v) (fun e => snd e * snd w (fst e)))).
  Proof.
    intros H. unfold unit_at. apply holds_plus; [apply holds_constant|]. induction H as [|t w ts ws (Q & N & S & H) HF IH]; [apply holds_constant|].
    rewrite zsum_cons. cbn [total_of fold_right]. apply holds_plus; [|exact IH]. rewrite <- Q. apply term_at_holds; assumption.
  Qed.

  Variables (V : zrows) (sent : list ((rule Z * (Z -> Z -> Z)) * table (list Z))).
  Definition message_value (l : ruled Z) (below : list (ruled Z)) (column : (Z -> Z -> Z) -> Z -> Z) (p : rule Z * (Z -> Z -> Z)) (u : Z) : Z :=
    zsum (ids (ruled_inputs l)) (fun i => zpassed (on_graph below h) i (zvalue (on_graph below h) V u i) * column (snd p) i).

  Lemma sent_to_sends l below column pick units v wanted : In v wanted -> incl (rows_read g (l :: below) wanted) near ->
    (below = [] -> map fst sent = ruled_terms l /\
      forall s u, In s sent -> pick (get (snd s) u) = zsum (ids (ruled_inputs l)) (fun i => V u i * column (snd (fst s)) i)) ->
    (below <> [] -> forall u i, In u (sources (terms (layer_on g l)) wanted) -> In i (ids (ruled_inputs l)) ->
      holds (units u i) (zpassed (on_graph below h) i (zvalue (on_graph below h) V u i))) ->
    Forall2 (sends_to v) (sent_to sent l below column pick units) (map (fun p => (fst p, message_value l below column p)) (ruled_terms l)).
  Proof.
    intros IV N B U. cbn [rows_read] in N. set (senders := sources (terms (layer_on g l)) wanted) in *.
    assert (forall p, In p (ruled_terms l) -> forall u, In u (heard (fst p) v) -> In u senders) as HS.
    { intros p P u I. unfold heard in I. apply in_map_iff in I as (e & <- & I).
      apply (sources_in _ _ {| operator := by_rule (fst p) g; weight := snd p |} v); [|exact IV|exact I].
      apply (in_map (fun p => {| operator := by_rule (fst p) g; weight := snd p |})). exact P. }
    assert (forall p, In p (ruled_terms l) -> (along_edges (fst p) = true -> In v near) /\ (by_sender (fst p) = true -> forall u, In u (heard (fst p) v) -> In u near)) as HN.
    { intros p P. split.
      - intros A. apply N. apply in_or_app. left. assert (existsb (fun p => along_edges (fst p)) (ruled_terms l) = true) as -> by (apply existsb_exists; exists p; auto). exact IV.
      - intros A u I. apply N. apply in_or_app. right. apply in_or_app. left.
        assert (existsb (fun p => by_sender (fst p)) (ruled_terms l) = true) as -> by (apply existsb_exists; exists p; auto). exact (HS p P u I). }
    unfold sent_to. destruct below as [|b below].
    - destruct (B eq_refl) as [B1 B2]. rewrite <- B1, map_map. rewrite <- B1 in HN. clear B B1 U HS N senders. induction sent as [|s ss IH]; [constructor|].
      cbn [map]. constructor.
      + destruct (HN (fst s) (or_introl eq_refl)) as [H1 H2]. split; [reflexivity|]. split; [exact H1|]. split; [exact H2|]. intros u _. cbn [fst snd].
        rewrite (B2 s u (or_introl eq_refl)). apply holds_constant.
      + apply IH; [intros p P; apply HN; right; exact P|intros s' u I; apply B2; right; exact I].
    - assert (forall ts, incl ts (ruled_terms l) -> Forall2 (sends_to v)
        (map (fun p => (fst p, get (tabulate (through (ruled_inputs l) (column (snd p)) units)))) ts)
        (map (fun p => (fst p, message_value l (b :: below) column p)) ts)) as K; [|apply K, incl_refl].
      induction ts as [|p ts IH]; intros SUB; cbn [map]; constructor; [|apply IH; intros x X; apply SUB; right; exact X].
      assert (In p (ruled_terms l)) as P by (apply SUB; left; reflexivity). destruct (HN p P) as [H1 H2].
      split; [reflexivity|]. split; [exact H1|]. split; [exact H2|]. intros u I. cbn [fst snd] in *. rewrite get_tabulate. unfold through, message_value.
      rewrite (zsum_ext _ _ (fun i => column (snd p) i * zpassed (on_graph (b :: below) h) i (zvalue (on_graph (b :: below) h) V u i))) by (intros; lia).
      apply holds_total. intros i II. apply holds_times. apply U; [discriminate|exact (HS p P u I)|exact II].
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

  Lemma passed_by_holds l0 w0 : sent = sent_first l0 w0 V -> forall net top wanted u i, lowest net top = Some (l0, w0) -> In u wanted -> 0 <= i < top ->
    incl (rows_read g net wanted) near -> holds (passed_by g budget known sent net u i) (zpassed (on_graph net h) i (zvalue (on_graph net h) V u i)).
  Proof.
    intros SENT. induction net as [|l below IH]; intros top wanted u i L IU II N; [discriminate|]. cbn [passed_by]. rewrite twice_spec. unfold passed.
    rewrite !get_tabulate.
    assert (holds (unit_at g budget known (ruled_bias l u i) u (sent_to sent l below (fun w i0 => w i0 i) (at_place i) (passed_by g budget known sent below)))
      (zvalue (on_graph (l :: below) h) V u i)) as H.
    { rewrite unit_value. apply unit_at_holds, (sent_to_sends l below _ _ _ u wanted IU N).
      - intros ->. cbn [lowest] in L. injection L as <- <-. rewrite SENT. unfold sent_first. rewrite map_map. cbn [fst]. split; [apply map_id|].
        intros s x I. apply in_map_iff in I as (p & <- & I). cbn [fst snd]. rewrite (first_pick l top x p (fun w => w i)) by exact I.
        unfold at_place. apply (nth_ids (fun j => zsum (ids (ruled_inputs l)) (fun i0 => V x i0 * snd p i0 j))). exact II.
      - intros NB x i0 X I0. destruct below as [|b below]; [congruence|]. apply (IH (ruled_inputs l) (sources (terms (layer_on g l)) wanted)); auto.
        + apply ids_in. exact I0.
        + intros z Z0. apply N. cbn [rows_read]. apply in_or_app. right. apply in_or_app. right. exact Z0. }
    cbn [on_graph map zpassed layer_on relu]. fold (on_graph below h). change (layer_on h l :: on_graph below h) with (on_graph (l :: below) h).
    destruct (ruled_relu l i); [apply holds_activated|]; exact H.
  Qed.

  Lemma margin_holds l0 w0 net classes t y other : sent = sent_first l0 w0 V -> lowest net classes = Some (l0, w0) -> 0 <= y < classes -> 0 <= other < classes ->
    incl (rows_read g net [t]) near ->
    holds (margin_at g budget known sent net t y other) (zvalue (on_graph net h) V t y - zvalue (on_graph net h) V t other).
  Proof.
    intros SENT L Y O N. destruct net as [|l below]; [discriminate|]. cbn [margin_at]. rewrite !unit_value.
    assert (forall a b c d : Z, a + b - (c + d) = a - c + (b - d)) as K by (intros; lia). rewrite K. clear K.
    assert (zsum (map (fun p => (fst p, message_value l below (fun w i => w i y - w i other) p)) (ruled_terms l)) (fun w => zsum (by_rule (fst w) h t) (fun e => snd e * snd w (fst e))) =
      zsum (map (fun p => (fst p, message_value l below (fun w i => w i y) p)) (ruled_terms l)) (fun w => zsum (by_rule (fst w) h t) (fun e => snd e * snd w (fst e))) -
      zsum (map (fun p => (fst p, message_value l below (fun w i => w i other) p)) (ruled_terms l)) (fun w => zsum (by_rule (fst w) h t) (fun e => snd e * snd w (fst e)))) as <-.
    { rewrite !zsum_map. unfold Z.sub. rewrite <- zsum_opp, <- zsum_plus. apply zsum_ext. intros p. cbn [fst snd]. rewrite <- zsum_opp, <- zsum_plus. apply zsum_ext. intros e.
      unfold message_value. rewrite (zsum_ext _ (fun i => _ * (snd p i y + - snd p i other))
        (fun i => zpassed (on_graph below h) i (zvalue (on_graph below h) V (fst e) i) * snd p i y + - (zpassed (on_graph below h) i (zvalue (on_graph below h) V (fst e) i) * snd p i other)))
        by (intros; lia). rewrite zsum_plus, zsum_opp. lia. }
    apply unit_at_holds, (sent_to_sends l below _ _ _ t [t] (or_introl eq_refl) N).
    - intros ->. cbn [lowest] in L. injection L as <- <-. rewrite SENT. unfold sent_first. rewrite map_map. cbn [fst]. split; [apply map_id|].
      intros s x I. apply in_map_iff in I as (p & <- & I). cbn [fst snd]. rewrite (first_pick l classes x p (fun w => w y)) by exact I. unfold at_place.
      rewrite !(nth_ids (fun j => zsum (ids (ruled_inputs l)) (fun i0 => V x i0 * snd p i0 j))) by assumption.
      unfold Z.sub at 1. rewrite <- zsum_opp, <- zsum_plus. apply zsum_ext. intros i. lia.
    - intros NB x i0 X I0. destruct below as [|b below]; [congruence|]. apply (passed_by_holds l0 w0 SENT (b :: below) (ruled_inputs l) (sources (terms (layer_on g l)) [t])); auto.
      + apply ids_in. exact I0.
      + intros z Z0. apply N. cbn [rows_read]. apply in_or_app. right. apply in_or_app. right. exact Z0.
  Qed.
End Carried.

(* The sets of a path. *)
Lemma no_repeats_nodup l : no_repeats l = true -> NoDup l.
Proof.
  induction l as [|a l IH]; intros H; constructor; cbn [no_repeats] in H; apply andb_prop in H as [H1 H2]; auto. intros I. apply negb_true_iff in H1.
  assert (existsb (Z.eqb a) l = true); [|congruence]. apply existsb_exists. exists a. split; [exact I|apply Z.eqb_refl].
Qed.

Lemma each_edge_once_in c l : In c (each_edge_once l) <-> In c l.
Proof.
  induction l as [|d l IH]; [reflexivity|]. cbn [each_edge_once fold_right]. fold (each_edge_once l). destruct (among d (each_edge_once l)) eqn:M.
  - apply among_spec in M. rewrite IH. split; [intros I; right; exact I|intros [->|I]; [apply IH; exact M|exact I]].
  - cbn [In]. rewrite IH. reflexivity.
Qed.

Lemma each_edge_once_nodup l : NoDup (each_edge_once l).
Proof.
  induction l as [|d l IH]; [constructor|]. cbn [each_edge_once fold_right]. fold (each_edge_once l). destruct (among d (each_edge_once l)) eqn:M; [exact IH|].
  constructor; [apply among_false; exact M|exact IH].
Qed.

Lemma count_bits {A} (f : A -> bool) l : zsum l (fun a => bit (f a)) = Z.of_nat (length (filter f l)).
Proof. induction l as [|a l IH]; [reflexivity|]. rewrite zsum_cons, IH. cbn [filter]. destruct (f a); cbn [bit length]; lia. Qed.

Lemma split_length {A} (f : A -> bool) l : (length (filter f l) + length (filter (fun x => negb (f x)) l) = length l)%nat.
Proof. induction l as [|a l IH]; [reflexivity|]. cbn [filter]. destruct (f a); cbn [negb length]; lia. Qed.

Section Path.
  Variables (net : list (ruled Z)) (classes : Z) (E : edge_problem) (V : zrows) (p : edges_prepared).
  Hypothesis PREPARED : prepare_edges net classes E V = Some p.

  Lemma has_arc_spec f u v : has_arc E f u v = true <-> f = (u, v) \/ (directed E = false /\ f = (v, u)).
  Proof.
    unfold has_arc. rewrite orb_true_iff, andb_true_iff, negb_true_iff, !same_spec. intuition congruence.
  Qed.

  Lemma bound_keeps_sound t y others made left_out : NoDup made -> bound_keeps p t y others made left_out = true ->
    forall C, covered net E V t y others made left_out C.
  Proof.
    intros ND H C A I L other IO. destruct (same_problem net classes E V p PREPARED) as (Ep & En & Ec & Ei).
    unfold bound_keeps in H. rewrite Ep, En, Ec in H. set (g := graph_after p made) in *. set (near := each_once (rows_read g net [t])) in *.
    set (open := each_edge_once _) in H. set (budget := most_changes E - size made) in *.
    set (room := fun v => Z.min budget (most_at E v - size (counted_at E v made))) in *.
    rewrite !andb_true_iff, !forallb_forall, Z.leb_le, Z.ltb_lt in H. destruct H as ((((HR & HN) & Y0) & Y1) & HB).
    set (T := filter (fun c => negb (among c made)) C).
    set (ind := fun f => bit (among f T)). set (cut := fun u v => existsb (fun f => has_arc E f u v) T).
    assert (forall f, In f T <-> In f C /\ ~ In f made) as TI.
    { intros f. unfold T. rewrite filter_In, negb_true_iff, among_false. reflexivity. }
    assert (NoDup C) as NC by apply A. assert (NoDup T) as NT by (apply NoDup_filter; exact NC).
    assert (forall f u v, In f T -> In v near -> has_arc E f u v = true -> In f open) as OPEN.
    { intros f u v IT IN HA. apply TI in IT as [IC NM]. apply each_edge_once_in. apply filter_In. split.
      - apply in_flat_map. exists v. split; [exact IN|]. rewrite Ei. unfold changes_into. apply filter_In. destruct A as (_ & _ & P & _). pose proof (P f IC) as Q.
        split; [|apply is_permitted_spec; exact Q]. apply has_arc_spec in HA as [->|[D ->]]; cbn [fst snd] in Q; apply in_or_app.
        + left. apply (in_map (fun u => (u, v))). apply ids_in. apply Q.
        + right. rewrite D. apply (in_map (fun u => (v, u))). apply ids_in. apply Q.
      - rewrite andb_true_iff, negb_true_iff, orb_false_iff, !among_false. split; [split; [exact NM|intros X; exact (L f X IC)]|].
        apply (smaller_admissible E (f :: made) C); [constructor; assumption| |exact A]. intros x [<-|X]; auto. }
    assert (forall f f' u v, In f T -> In f' T -> has_arc E f u v = true -> has_arc E f' u v = true -> f = f') as UNIQUE.
    { intros f f' u v I1 I2 H1 H2. apply TI in I1 as [I1 _]. apply TI in I2 as [I2 _]. destruct A as (_ & _ & P & _).
      destruct (P f I1) as (_ & _ & _ & O1 & _). destruct (P f' I2) as (_ & _ & _ & O2 & _).
      apply has_arc_spec in H1 as [->|[D ->]]; apply has_arc_spec in H2 as [->|[D' ->]]; try reflexivity; cbn [fst snd] in *; destruct O1, O2; try congruence; lia. }
    assert (forall f, ind f = 0 \/ ind f = 1) as IND by (intros f; unfold ind; destruct (among f T); [right|left]; reflexivity).
    assert (Z.of_nat (length T) <= budget) as TB.
    { unfold budget, T, size. pose proof (split_length (fun c => among c made) C) as S.
      assert (length made <= length (filter (fun c => among c made) C))%nat as M.
      { apply NoDup_incl_length; [exact ND|]. intros c X. apply filter_In. split; [apply I; exact X|apply among_spec; exact X]. }
      destruct A as (_ & A & _). unfold size in A. unfold edge, flip in *. lia. }
    assert (zsum open ind <= budget) as BUDGET.
    { unfold ind. rewrite count_bits. assert (length (filter (fun f => among f T) open) <= length T)%nat; [|lia].
      apply NoDup_incl_length; [apply NoDup_filter, each_edge_once_nodup|]. intros f X. apply filter_In in X as [_ X]. apply among_spec. exact X. }
    assert (forall u v, In v near -> zsum open (fun f => bit (has_arc E f u v) * ind f) = bit (cut u v)) as CUT.
    { intros u v IN. unfold cut. destruct (existsb (fun f => has_arc E f u v) T) eqn:X.
      - apply existsb_exists in X as (f & X1 & X2). rewrite (zsum_single open f).
        + unfold ind. rewrite X2. apply among_spec in X1. rewrite X1. reflexivity.
        + apply each_edge_once_nodup.
        + exact (OPEN f u v X1 IN X2).
        + intros f' _ D. unfold ind. destruct (has_arc E f' u v) eqn:X3; [|reflexivity]. destruct (among f' T) eqn:X4; [|reflexivity].
          apply among_spec in X4. destruct D. exact (UNIQUE f' f u v X4 X1 X3 X2).
      - apply zsum_zero. intros f _. unfold ind. destruct (among f T) eqn:X4; [|cbn [bit]; lia]. apply among_spec in X4.
        destruct (has_arc E f u v) eqn:X3; [|reflexivity]. assert (existsb (fun f => has_arc E f u v) T = true); [|congruence]. apply existsb_exists. exists f. auto. }
    assert (forall u v, cut u v = true <-> In (u, v) (arcs E T)) as CA.
    { intros u v. unfold cut. rewrite existsb_exists, arcs_in. cbn [fst snd]. split.
      - intros (f & X1 & X2). apply has_arc_spec in X2 as [->|[D ->]]; auto.
      - intros [X|[D X]]; [exists (u, v)|exists (v, u)]; (split; [exact X|]); apply has_arc_spec; auto. }
    assert (forall u v, In v near -> cut u v = true -> In u (graph_of E v)) as PRESENT.
    { intros u v IN X. unfold cut in X. apply existsb_exists in X as (f & X1 & X2). pose proof (HR f (OPEN f u v X1 IN X2)) as R. unfold removes in R.
      apply andb_prop in R as [R1 R2]. apply has_arc_spec in X2 as [->|[D ->]]; cbn [fst snd] in *.
      - apply existsb_exists in R1 as (x & R & Q). apply Z.eqb_eq in Q. subst x. exact R.
      - rewrite D in R2. cbn [orb] in R2. apply existsb_exists in R2 as (x & R & Q). apply Z.eqb_eq in Q. subst x. exact R. }
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
    assert (forall v, In v near -> Z.of_nat (length (filter (fun u => cut u v) (g v))) <= capacity E g open room v) as ROOM.
    { intros v IN. unfold capacity. destruct (filter (fun u => cut u v) (g v)) as [|u0 rest] eqn:EF; [cbn [length]; lia|]. rewrite <- EF.
      etransitivity; [|apply Z.le_max_r].
      assert (In u0 (filter (fun u => cut u v) (g v))) as U0 by (rewrite EF; left; reflexivity). clear EF rest. apply Z.min_glb.
      - pose proof (no_repeats_nodup (g v) (HN v IN)) as NR.
        set (end_of := fun f : edge => if Z.eqb (snd f) v then fst f else snd f).
        assert (forall u, cut u v = true -> exists f, In f (counted_at E v T) /\ end_of f = u) as ENDS.
        { intros u X. unfold cut in X. apply existsb_exists in X as (f & X1 & X2). exists f.
          split; [apply counted_at_in; split; [exact X1|]|]; apply has_arc_spec in X2 as [->|[DD ->]]; unfold end_of; cbn [fst snd] in *; auto.
          - rewrite Z.eqb_refl. reflexivity.
          - destruct (Z.eqb_spec u v); [subst; reflexivity|reflexivity]. }
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
      - assert (length (filter (fun u => cut u v) (g v)) <= length (filter (fun u => existsb (fun f => has_arc E f u v) open) (g v)))%nat; [|lia].
        apply NoDup_incl_length; [apply NoDup_filter, no_repeats_nodup, HN, IN|]. intros u X. apply filter_In in X as [X1 X2]. apply filter_In. split; [exact X1|].
        unfold cut in X2. apply existsb_exists in X2 as (f & F1 & F2). apply existsb_exists. exists f. split; [exact (OPEN f u v F1 IN F2)|exact F2]. }
    pose proof (HB other IO) as B. rewrite !andb_true_iff, Z.leb_le, !Z.ltb_lt in B. destruct B as ((O0 & O1) & B).
    unfold prepare_edges in PREPARED. destruct (lowest net classes) as [[l0 w0]|] eqn:LO; [|discriminate].
    assert (sent_once p = sent_first l0 w0 V) as SENT by (injection PREPARED as <-; reflexivity).
    pose proof (margin_holds E g (changed_graph E C) open budget room ind cut near IND BUDGET CUT RED ROOM V (sent_once p) l0 w0 net classes t y other SENT LO) as M.
    assert (incl (rows_read g net [t]) near) as NR by (intros v X; apply each_once_in; exact X).
    specialize (M (conj Y0 Y1) (conj O0 O1) NR). apply (holds_range _ _ _ IND BUDGET) in M. lia.
  Qed.
End Path.

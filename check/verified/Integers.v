(* The network in integers: every tensor times a power of two (or any positive number); what that has to do with the rational
   network, and what flips do to its first layer. *)
From Coq Require Import ZArith QArith List Bool Lia.
From Verified Require Import Spec Sums.
Import ListNotations.
Open Scope Z_scope.

Definition zpassed (net : network Z) (i z : Z) : Z :=
  match net with last :: _ => if relu last i then pos z else z | [] => z end.

(* What the first layer reads, in integers; of attributes that are 0 or 1, these. *)
Definition zrows := Z -> Z -> Z.
Definition bit (b : bool) : Z := if b then 1 else 0.
Definition entries (X : Z -> Z -> bool) : zrows := fun n d => bit (X n d).

Fixpoint zvalue (net : network Z) (V : zrows) (m j : Z) : Z :=
  match net with
  | [] => V m j
  | last :: below =>
      bias last m j +
      zsum (terms last) (fun t => zsum (operator t m) (fun e => snd e *
        zsum (ids (inputs last)) (fun i => zpassed below i (zvalue below V (fst e) i) * weight t i j)))
  end.
Notation zpre net X := (zvalue net (entries X)).

(* The integer network is the rational one, scaled: operators of a layer by a, its weights by w, its biases so that pre-activations
   are scaled as a whole, by c; what the first layer reads by base. *)
Definition scaled_term (a w : Q) (q : term Q) (z : term Z) : Prop :=
  (forall m, Forall2 (fun e f => fst e = fst f /\ inject_Z (snd f) == a * snd e)%Q (operator q m) (operator z m)) /\
  (forall i j, inject_Z (weight z i j) == w * weight q i j)%Q.

Inductive scaled (base : Q) : Q -> network Q -> network Z -> Prop :=
| scaled_none : scaled base base [] []
| scaled_layer c a w q qs z zs :
    scaled base c qs zs -> (0 < a)%Q -> (0 < w)%Q ->
    Forall2 (scaled_term a w) (terms q) (terms z) ->
    inputs q = inputs z -> (forall j, relu q j = relu z j) ->
    (forall m j, inject_Z (bias z m j) == c * a * w * bias q m j)%Q ->
    scaled base (c * a * w) (q :: qs) (z :: zs).

Lemma scaled_pos base c qs zs : (0 < base)%Q -> scaled base c qs zs -> (0 < c)%Q.
Proof. intros B. induction 1; [exact B|]. repeat apply Qmult_lt_0_compat; auto. Qed.

Lemma inject_zsum {A} (l : list A) f : (inject_Z (zsum l f) == sum l (fun a => inject_Z (f a)))%Q.
Proof.
  induction l as [|a l IH]; [reflexivity|]. rewrite zsum_cons, inject_Z_plus, IH. reflexivity.
Qed.

Lemma sum_scale {A} (l : list A) c f : (sum l (fun a => c * f a) == c * sum l f)%Q.
Proof.
  induction l as [|a l IH]; cbn [sum fold_right]; [ring|]. change (fold_right _ 0%Q l) with (sum l (fun a => c * f a)%Q) at 1.
  rewrite IH. change (fold_right _ 0%Q l) with (sum l f). ring.
Qed.

Lemma sum_ext {A} (l : list A) f g : (forall a, f a == g a)%Q -> (sum l f == sum l g)%Q.
Proof.
  intros H. induction l as [|a l IH]; [reflexivity|]. cbn [sum fold_right]. rewrite H. apply Qplus_comp; [reflexivity|exact IH].
Qed.

Lemma sum_forall2 {A B} (R : A -> B -> Prop) l r f g :
  Forall2 R l r -> (forall a b, R a b -> f a == g b)%Q -> (sum l f == sum r g)%Q.
Proof.
  intros F H. induction F as [|a b l r E F IH]; [reflexivity|]. cbn [sum fold_right]. rewrite (H a b E).
  apply Qplus_comp; [reflexivity|exact IH].
Qed.

Lemma inject_pos c x z : (0 < c)%Q -> (inject_Z z == c * x)%Q -> (inject_Z (pos z) == c * (if Qle_bool 0 x then x else 0))%Q.
Proof.
  intros C E. unfold pos. destruct (Qle_bool 0 x) eqn:L.
  - apply Qle_bool_iff in L. rewrite Z.max_l; [assumption|]. rewrite Zle_Qle, E. apply Qmult_le_0_compat; auto. apply Qlt_le_weak. auto.
  - assert (x < 0)%Q as N. { apply Qnot_le_lt. intros G. apply Qle_bool_iff in G. congruence. }
    rewrite Z.max_r; [change (inject_Z 0) with 0%Q; ring|]. rewrite Zle_Qle, E. setoid_replace (inject_Z 0) with (c * 0)%Q by (change (inject_Z 0) with 0%Q; ring).
    apply Qmult_le_l; auto. apply Qlt_le_weak. auto.
Qed.

Section Scaled.
  Variables (base c : Q) (qs : network Q) (zs : network Z) (V : zrows) (X : rows).
  Hypothesis BASE : (0 < base)%Q.
  Hypothesis READ : forall n d, (inject_Z (V n d) == base * X n d)%Q.

  Theorem scaled_value : scaled base c qs zs -> forall m j, (inject_Z (zvalue zs V m j) == c * preactivation qs X m j)%Q.
  Proof.
    induction 1 as [|c a w q qs z zs S IH A W T I R B]; intros m j; [apply READ|].
    cbn [zvalue preactivation]. rewrite inject_Z_plus, B, Qmult_plus_distr_r. apply Qplus_comp; [reflexivity|].
    rewrite inject_zsum, <- sum_scale. symmetry. apply (sum_forall2 _ _ _ _ _ T). intros t t' [To Tw].
    rewrite inject_zsum, <- sum_scale. apply (sum_forall2 _ _ _ _ _ (To m)). intros e f [E1 E2].
    rewrite inject_Z_mult, inject_zsum, E2, I.
    setoid_replace (c * a * w * (snd e * sum (ids (inputs z)) (fun i => passed_on qs i (preactivation qs X (fst e) i) * weight t i j)))%Q
      with (a * snd e * (c * w * sum (ids (inputs z)) (fun i => passed_on qs i (preactivation qs X (fst e) i) * weight t i j)))%Q by ring.
    apply Qmult_comp; [reflexivity|]. rewrite <- sum_scale. apply sum_ext. intros i. rewrite inject_Z_mult, Tw, E1.
    setoid_replace (c * w * (passed_on qs i (preactivation qs X (fst f) i) * weight t i j))%Q
      with ((c * passed_on qs i (preactivation qs X (fst f) i)) * (w * weight t i j))%Q by ring.
    apply Qmult_comp; [|reflexivity]. symmetry. specialize (IH (fst f) i).
    inversion S; subst; cbn [zpassed passed_on]; [exact IH|].
    match goal with H : forall j, relu _ j = relu _ j |- _ => rewrite <- (H i) end.
    destruct (relu _ i); [|exact IH]. apply inject_pos; [apply (scaled_pos _ _ _ _ BASE S)|exact IH].
  Qed.

  (* Logits compare as their integers do. *)
  Lemma scaled_less m i j : scaled base c qs zs -> zvalue zs V m i < zvalue zs V m j <-> (preactivation qs X m i < preactivation qs X m j)%Q.
  Proof. intros S. rewrite Zlt_Qlt, !(scaled_value S). rewrite Qmult_lt_l by exact (scaled_pos _ _ _ _ BASE S). reflexivity. Qed.

  Lemma scaled_equal m i j : scaled base c qs zs -> zvalue zs V m i = zvalue zs V m j -> (preactivation qs X m i == preactivation qs X m j)%Q.
  Proof.
    intros S E. apply inject_Z_injective in E. rewrite !(scaled_value S) in E.
    apply Qmult_inj_l in E; auto. intros C. pose proof (scaled_pos _ _ _ _ BASE S) as P. rewrite C in P. discriminate P.
  Qed.
End Scaled.

Lemma entries_numbers Y n d : (inject_Z (entries Y n d) == 1 * numbers Y n d)%Q.
Proof. unfold entries, numbers. destruct (Y n d); reflexivity. Qed.

Lemma scaled_lt c qs zs X m i j : scaled 1 c qs zs ->
  zpre zs X m i < zpre zs X m j <-> (preactivation qs (numbers X) m i < preactivation qs (numbers X) m j)%Q.
Proof. apply scaled_less; [reflexivity|apply entries_numbers]. Qed.

Lemma scaled_eq c qs zs X m i j : scaled 1 c qs zs ->
  zpre zs X m i = zpre zs X m j -> (preactivation qs (numbers X) m i == preactivation qs (numbers X) m j)%Q.
Proof. apply scaled_equal; [reflexivity|apply entries_numbers]. Qed.

(* Only the values of X matter. *)
Lemma zvalue_ext net V W : (forall n d, V n d = W n d) -> forall m j, zvalue net V m j = zvalue net W m j.
Proof.
  intros H. induction net as [|l below IH]; intros m j; cbn [zvalue]; [rewrite H; reflexivity|].
  f_equal. apply zsum_ext. intros t. apply zsum_ext. intros e. f_equal. apply zsum_ext. intros i. rewrite IH. reflexivity.
Qed.

(* Flips. *)
Lemma same_spec f g : same f g = true <-> f = g.
Proof.
  destruct f, g. unfold same. cbn [fst snd]. rewrite andb_true_iff, !Z.eqb_eq. split; [intros [-> ->]; reflexivity|intros [= -> ->]; auto].
Qed.

(* What a flip of the entry adds to it. *)
Definition change (X : Z -> Z -> bool) (n d : Z) : Z := if X n d then -1 else 1.

Lemma flipped_bit X F n d : NoDup F ->
  bit (flipped X F n d) = bit (X n d) + zsum F (fun f => if same (n, d) f then change X n d else 0).
Proof.
  unfold flipped. induction F as [|f F IH]; intros ND; cbn [existsb]; [rewrite zsum_nil; lia|].
  inversion ND as [|? ? NI ND']; subst. specialize (IH ND'). rewrite zsum_cons. destruct (same (n, d) f) eqn:E; cbn [orb].
  - apply same_spec in E. subst f. rewrite zsum_zero; [unfold change, bit; destruct (X n d); cbn; lia|].
    intros g Hg. destruct (same (n, d) g) eqn:G; auto. apply same_spec in G. subst. contradiction.
  - rewrite IH. lia.
Qed.

(* What a flip changes in unit j of node m of the first layer. *)
Definition effect (first : layer Z) (X : Z -> Z -> bool) (m j : Z) (f : flip) : Z :=
  change X (fst f) (snd f) *
  zsum (terms first) (fun t => zsum (operator t m) (fun e => if Z.eqb (fst e) (fst f) then snd e * weight t (snd f) j else 0)).

Lemma flipped_pre first X F m j :
  NoDup F -> (forall f, In f F -> 0 <= snd f < inputs first) ->
  zpre [first] (flipped X F) m j = zpre [first] X m j + zsum F (effect first X m j).
Proof.
  intros ND IN. cbn [zvalue zpassed]. unfold entries.
  replace (zsum F (effect first X m j)) with
    (zsum (terms first) (fun t => zsum (operator t m) (fun e => snd e *
       zsum F (fun f => if Z.eqb (fst f) (fst e) then change X (fst f) (snd f) * weight t (snd f) j else 0)))).
  - rewrite <- Z.add_assoc, <- zsum_plus. f_equal. apply zsum_ext. intros t. rewrite <- zsum_plus. apply zsum_ext. intros e.
    rewrite <- Z.mul_add_distr_l. f_equal.
    rewrite (zsum_ext _ _ (fun i => bit (X (fst e) i) * weight t i j + zsum F (fun f => if same (fst e, i) f then change X (fst e) i * weight t i j else 0))).
    + rewrite zsum_plus. f_equal. rewrite zsum_swap. apply zsum_ext_in. intros [n d] Hf. specialize (IN _ Hf). cbn [fst snd] in *.
      unfold same. cbn [fst snd]. rewrite (Z.eqb_sym n). destruct (Z.eqb_spec (fst e) n) as [E|E]; cbn [andb].
      * subst n. apply (zsum_only _ d (fun i => change X (fst e) i * weight t i j)); [apply ids_nodup|apply ids_in; assumption].
      * apply zsum_zero. reflexivity.
    + intros i. rewrite flipped_bit by assumption.
      rewrite Z.mul_add_distr_r, <- zsum_scale_r. f_equal. apply zsum_ext. intros f. destruct (same (fst e, i) f); lia.
  - unfold effect. rewrite (zsum_ext F _ (fun f => zsum (terms first) (fun t => change X (fst f) (snd f) *
      zsum (operator t m) (fun e => if Z.eqb (fst e) (fst f) then snd e * weight t (snd f) j else 0))))
      by (intros f; rewrite zsum_scale; reflexivity).
    rewrite (zsum_swap F). apply zsum_ext. intros t.
    rewrite (zsum_ext F _ (fun f => zsum (operator t m) (fun e => change X (fst f) (snd f) * (if Z.eqb (fst e) (fst f) then snd e * weight t (snd f) j else 0))))
      by (intros f; rewrite zsum_scale; reflexivity).
    rewrite (zsum_swap F). apply zsum_ext. intros e. rewrite <- zsum_scale. apply zsum_ext. intros f.
    rewrite (Z.eqb_sym (fst f)). destruct (Z.eqb (fst e) (fst f)); lia.
Qed.

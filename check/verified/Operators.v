(* The entries of operators that a rule names, and the entries of rows that are divided by their sums: every operation rounded to nearest, as
   Flocq defines them. *)
From Coq Require Import ZArith.
From Flocq Require Import IEEE754.BinarySingleNaN IEEE754.Binary IEEE754.Bits.
Open Scope Z_scope.

(* An integer as a float: exactly, below 2^53. *)
Definition of_count (n : Z) : binary64 := binary_normalize 53 1024 eq_refl eq_refl mode_NE n 0 false.

(* 1.0 / n, and 1.0 / sqrt(i * j), as bits. *)
Definition reciprocal (n : Z) : Z := bits_of_b64 (b64_div mode_NE (of_count 1) (of_count n)).
Definition reciprocal_root (i j : Z) : Z :=
  bits_of_b64 (b64_div mode_NE (of_count 1) (b64_sqrt mode_NE (b64_mult mode_NE (of_count i) (of_count j)))).

(* 1.0f / n in binary32, for n below 2^24, as the bits of the binary64 number that it is. *)
Definition of_count32 (n : Z) : binary32 := binary_normalize 24 128 eq_refl eq_refl mode_NE n 0 false.
Definition widened_float (x : binary32) : binary64 :=
  match x with
  | B754_finite _ _ s m e _ => binary_normalize 53 1024 eq_refl eq_refl mode_NE (if s then Z.neg m else Z.pos m) e false
  | _ => of_count 0
  end.
Definition reciprocal32 (n : Z) : Z := bits_of_b64 (widened_float (b32_div mode_NE (of_count32 1) (of_count32 n))).

(* A few of them, as any program with binary64 arithmetic has them. *)
Example third : reciprocal 3 = 4599676419421066581. Proof. vm_compute. reflexivity. Qed.
Example root_of_15 : reciprocal_root 3 5 = 4598322917612517082. Proof. vm_compute. reflexivity. Qed.
Example root_of_1183 : reciprocal_root 7 169 = 4584037286195149556. Proof. vm_compute. reflexivity. Qed.
Example third32 : reciprocal32 3 = 4599676419600023552. Proof. vm_compute. reflexivity. Qed.

(* The integers of the extracted program: Zarith's. *)
include Z

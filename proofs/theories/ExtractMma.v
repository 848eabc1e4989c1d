(* The tensor core's step as an OCaml program, on Coq's own integers: no machine word can
   overflow. *)
From Coq Require Import Extraction ExtrOcamlBasic.
From Orthros Require Import Mma.

Extraction "mma_core.ml" mma.

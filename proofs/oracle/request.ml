(* One request line of the oracle's protocol, checked; README.md beside this file describes it. *)

exception Bad of string

type t = {
  dual : bool;
  kinds : Oracle_core.kind list;
  chunks : int list;
  outputs : int list;
}

(* Answers grow with layers x tokens x tokens; a request past these sizes is surely a mistake. *)
let max_tokens = 4096
let max_layers = 256
let max_window = 1_000_000_000

let bad field expected got =
  raise (Bad (Printf.sprintf "%s: expected %s, got '%s'" field expected got))

let is_digits text = text <> "" && String.for_all (fun c -> c >= '0' && c <= '9') text

let number field text ~low ~high =
  let expected = Printf.sprintf "a whole number from %d to %d" low high in
  match if is_digits text then int_of_string_opt ("0u" ^ text) else None with
  | Some n when low <= n && n <= high -> n
  | _ -> bad field expected text

let list_of text = if text = "" then [] else String.split_on_char ',' text

let kind text =
  let size = number "layers" ~low:1 ~high:max_window in
  match String.split_on_char ':' text with
  | [ "full" ] -> Oracle_core.Full
  | [ "window"; w ] -> Oracle_core.Windowed (size w)
  | [ "linear" ] -> Oracle_core.Linear 1
  | [ "linear"; taps ] -> Oracle_core.Linear (size taps)
  | _ -> bad "layers" "full, window:W, linear or linear:TAPS" text

let keys = [ "arch"; "layers"; "tokens"; "chunks"; "outputs" ]

let field word =
  match String.index_opt word '=' with
  | Some i ->
    let key = String.sub word 0 i in
    if List.mem key keys then (key, String.sub word (i + 1) (String.length word - i - 1))
    else bad "case" ("one of " ^ String.concat ", " keys) key
  | None -> bad "case" "KEY=VALUE" word

let parse line =
  match List.filter (( <> ) "") (String.split_on_char ' ' (String.trim line)) with
  | "case" :: words ->
    let fields = List.map field words in
    let value key =
      match List.filter (fun (k, _) -> k = key) fields with
      | [ (_, v) ] -> v
      | [] -> bad key "a value" "nothing"
      | _ -> bad key "one value" "several"
    in
    let dual =
      match value "arch" with
      | "dual" -> true
      | "single" -> false
      | other -> bad "arch" "dual or single" other
    in
    let kinds = List.map kind (list_of (value "layers")) in
    if List.length kinds > max_layers then
      bad "layers" (Printf.sprintf "at most %d layers" max_layers)
        (string_of_int (List.length kinds));
    let tokens = number "tokens" (value "tokens") ~low:1 ~high:max_tokens in
    let positions key = List.map (number key ~low:1 ~high:tokens) (list_of (value key)) in
    let chunks = positions "chunks" in
    if List.fold_left ( + ) 0 chunks <> tokens then
      bad "chunks" (Printf.sprintf "sizes that add up to %d tokens" tokens) (value "chunks");
    { dual; kinds; chunks; outputs = positions "outputs" }
  | word :: _ -> bad "request" "case" word
  | [] -> bad "request" "case" ""

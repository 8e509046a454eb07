(* The program: reads a statement and proofs from standard input, has them judged by the extracted checker, says what became of each.

   Trusted here: that the statement is read as it is written (`statement`, `problem`, `grouping`, `edge_problem`, `range_rows`), which nodes a rule joins (`by_rule`, and on changed graphs which nodes are
   joined to themselves and which floats are entries: `following`), that every float becomes an integer by the
   extracted `to_integer` (`network`, `edge_network`, and where rows are divided what they are divided by), that
   the shifts by which it did are those that `prepare_deployed` is told, how the network runs, which layers do (`statement`; that they are these layers in integers,
   and which of their numbers are rounded when they are read: `running`, where `places` and `blocks` need not be right), whether it reads rows exactly, that it is asked about existing nodes and, where classes are labels, about these, which predictions
   count (`counts`), that what is known begins with `nothing_known` and changes by `take_line` alone, and that what is printed is what `judge`, `judge_deployed`, `judge_changes`, `judge_joint`, `judge_ranges`, `judge_deployed_ranges` or `claim_holds` said. Hints, trees, share lines, prices
   and lines of bounds need not be read correctly. *)
open Checker
module N = Number

exception Wrong of string
let wrong text = raise (Wrong text)
let line_number = ref 0
let read_line () = incr line_number; try input_line stdin with End_of_file -> wrong "the input ends too early"

(* The words of a line, one after the other. *)
type words = { text : string; mutable at : int }
let words text = { text; at = 0 }
let is_end w = w.at >= String.length w.text
let word w =
  if is_end w then wrong "a word is missing";
  let stop = match String.index_from_opt w.text w.at ' ' with Some stop -> stop | None -> String.length w.text in
  let found = String.sub w.text w.at (stop - w.at) in
  w.at <- stop + 1;
  found
let int w = let text = word w in match int_of_string_opt text with Some i when i >= 0 -> i | _ -> wrong ("'" ^ text ^ "' is no count")
let big w = let text = word w in try N.of_string text with Invalid_argument _ -> wrong ("'" ^ text ^ "' is no integer")
let bits w = let text = word w in try N.of_string_base 16 text with Invalid_argument _ -> wrong ("'" ^ text ^ "' is no float")
let rec all read w = if is_end w then [] else let x = read w in x :: all read w
let many w read = List.init (int w) (fun _ -> read w)
let expect name w = if word w <> name then wrong ("'" ^ name ^ "' is missing")
let headed name = let w = words (read_line ()) in expect name w; w
let array count read = Array.init count (fun _ -> read ())
(* A mantissa and an exponent of 2. *)
type dyadic = N.t * int
let dyadic w : dyadic = let m = big w in let text = word w in match int_of_string_opt text with Some e -> (m, e) | None -> wrong ("'" ^ text ^ "' is no exponent")
let at list i = if N.fits_int i && N.sign i >= 0 && N.to_int i < Array.length list then Some list.(N.to_int i) else None

(* The statement, floats still as their bits. An operator is stated row by row, or follows from the edges by a rule. *)
type operator = Stated of (int * N.t) list array | Follows of string
type candidates = All | Within of int | Listed of (int * int) list
type changes = { most : N.t; at_nodes : N.t array; flips_too : bool; one_way : bool; removes : bool; inserts : bool; keep_one : bool; kept : (int * int) list; candidates : candidates }
type limits = Around of dyadic | Between of (dyadic * dyadic) array (* the ranges of attributes: so far from each entry, or from here to there *)
type moves = { limits : limits; values : (int * N.t) list array option } (* the entries that are not 0, where attributes are numbers *)
type stored = { inputs : int; outputs : int; relu : string; operators : int array; weights : N.t array array array; biases : N.t array array }
(* A layer that runs: the layer of the chain that has it, and from which unit on; of each term what it reads, by how many units entries may be wrong, which one
   of the chain's layer it is, from which input on, and its weights. Where numbers were folded: the sizes of their parts, and how many roundings more they pass. *)
type reader_written = { from_layer : int; through : int; units_wrong : int; taken_units : int; among : int; starts : int; numbers : N.t array array;
  sizes : N.t array array option; passed : int }
type stage_written = { chain_layer : int; starts_at : int; made_units : int; activations : string; readers : reader_written list; offsets : N.t array array;
  offset_sizes : N.t array array option; passed_by_offsets : int }
type statement = {
  nodes : int; attributes : int; targets : int; (* rows of logits that are classified: nodes, or graphs *)
  present : Bytes.t array; neighbours : int list array; batch : int array option; operators : operator array; named : string array; layers : stored list; (* the first layer first *)
  total : N.t; each : N.t array; direction : string; frozen : bool array;
  shares : N.t array option; (* where rows are divided: by the number of attributes that a node has, what each of them is read as *)
  categories : int array option; (* the group of each attribute, -1 where it is in none *)
  labels : int option array option; (* the class to keep: predicted, or these *)
  changes : changes option; (* where edges are changed: which, and how many; and whether flips are made as well *)
  moves : moves option; (* where attributes are moved: within which ranges *)
  run : (arithmetic * stage_written list) option; (* every execution in floating point, of these layers, or exact arithmetic *)
  attack : (N.t option * bool array) option } (* one attack for the whole graph: in so many rows, on predictions of these nodes *)

(* The rows of an operator that a rule names, by the extracted arithmetic. *)
let by_rule rule nodes neighbours batch =
  let rows = match rule, batch with
    | ("pool-sum" | "pool-mean"), Some graphs ->
        let rows = Array.make nodes [] in
        for n = nodes - 1 downto 0 do rows.(graphs.(n)) <- n :: rows.(graphs.(n)) done;
        rows
    | _ ->
        let itself = match rule with "gcn" | "mean+self" | "sum+self" | "identity" -> true | "gcn-self" | "mean" | "sum" -> false | _ -> wrong ("an unknown rule '" ^ rule ^ "'") in
        Array.init nodes (fun n -> List.sort_uniq compare ((if itself then [n] else []) @ (if rule = "identity" then [] else neighbours.(n)))) in
  let count n = List.length rows.(n) in
  let known = Hashtbl.create 256 in
  let once key f = match Hashtbl.find_opt known key with Some x -> x | None -> let x = f () in Hashtbl.add known key x; x in
  let entry i j = match rule with
    | "gcn" | "gcn-self" -> once (count i, count j) (fun () -> reciprocal_root (N.of_int (count i)) (N.of_int (count j)))
    | "mean" | "mean+self" | "pool-mean" -> once (count i, 0) (fun () -> reciprocal (N.of_int (count i)))
    | _ -> once (1, 0) (fun () -> reciprocal N.one) in
  Array.mapi (fun i row -> List.map (fun j -> (j, entry i j)) row) rows

let tail m = if N.sign m = 0 then 0 else N.trailing_zeros m

let statement () =
  if read_line () <> "gcnproof-verified 12" then wrong "not a statement of this version";
  let w = headed "graph" in
  let nodes = int w in
  let attributes = int w in
  let present = array nodes (fun () ->
    let row = Bytes.make ((attributes + 7) / 8) '\000' in
    List.iter (fun d ->
      if d >= attributes then wrong "an attribute is out of range";
      Bytes.set row (d / 8) (Char.chr (Char.code (Bytes.get row (d / 8)) lor (1 lsl (d mod 8))))) (all int (words (read_line ())));
    row) in
  let entry w = let n = int w in if n >= nodes then wrong "a node is out of range"; (n, bits w) in
  let neighbour w = let n = int w in if n >= nodes then wrong "a node is out of range"; n in
  let neighbours = array nodes (fun () -> all neighbour (words (read_line ()))) in
  let batch = match all neighbour (headed "batch") with
    | [] -> None
    | list when List.length list = nodes -> Some (Array.of_list list)
    | _ -> wrong "not one graph for each node" in
  let targets = match batch with None -> nodes | Some graphs -> 1 + Array.fold_left max (-1) graphs in
  let operators = array (int (headed "operators")) (fun () ->
    let w = words (read_line ()) in
    if word w = "rule" then (let rule = word w in (rule, Follows rule)) else begin
    let rule = w.at <- 0; expect "operator" w; word w in
    let stated = array nodes (fun () -> all entry (words (read_line ()))) in
    if rule <> "given" then begin
      let same (n, x) (m, y) = n = m && N.equal x y in
      let check n row = if not (List.length row = List.length stated.(n) && List.for_all2 same row stated.(n)) then wrong ("an entry is not that of the rule " ^ rule) in
      Array.iteri check (by_rule rule nodes neighbours batch)
    end;
    (rule, Stated stated) end) in
  let named = Array.map fst operators and operators = Array.map snd operators in
  let row count () = let w = words (read_line ()) in let list = Array.init count (fun _ -> bits w) in if not (is_end w) then wrong "a row is too long"; list in
  let layer () =
    let w = headed "layer" in
    let inputs = int w in let outputs = int w in let terms = int w in let rows = int w in
    if rows <> 1 && rows <> nodes then wrong "neither one bias for all nodes nor one for each";
    let relu = word w in
    if String.length relu <> outputs then wrong "not one activation for each unit";
    let chosen = Array.make terms 0 in
    let weights = Array.init terms (fun t ->
      chosen.(t) <- int (headed "term");
      if chosen.(t) >= Array.length operators then wrong "there is no such operator";
      array inputs (row outputs)) in
    { inputs; outputs; relu; operators = chosen; weights; biases = array rows (row outputs) } in
  let layers = Array.to_list (array (int (headed "layers")) layer) in
  let w = words (read_line ()) in
  let word_of list w = let text = word w in match List.assoc_opt text list with Some x -> x | None -> wrong ("'" ^ text ^ "' is unknown") in
  let pair w = let i = neighbour w in (i, neighbour w) in
  let each () =
    let each = Array.of_list (all big (headed "each")) in
    if Array.length each <> nodes then wrong "not one local budget for each node";
    each in
  let frozen = Array.make attributes false in
  let read_frozen () = List.iter (fun d -> if d >= attributes then wrong "a frozen attribute is out of range"; frozen.(d) <- true) (all int (headed "frozen")) in
  let flips w =
    let total = big w in
    let direction = word w in
    if not (List.mem direction ["both"; "add"; "remove"]) then wrong "an unknown direction";
    let each = each () in
    read_frozen ();
    (total, direction, each) in
  let total, direction, each, categories, changes, moves = match word w with
    | "budget" ->
        let total, direction, each = flips w in
        let group w = match word w with "-" -> -1 | text -> (match int_of_string_opt text with Some g when g >= 0 -> g | _ -> wrong "a group is no number") in
        let categories = match all group (headed "groups") with
          | [] -> None
          | list when List.length list = attributes && direction = "both" -> Some (Array.of_list list)
          | _ -> wrong "not one group for each attribute, or a direction" in
        (total, direction, each, categories, None, None)
    | "edges" ->
        let most = big w in
        let one_way = word_of ["directed", true; "undirected", false] w in
        let removes, inserts = word_of ["remove", (true, false); "insert", (false, true); "change", (true, true)] w in
        let keep_one = word_of ["keep-one", true; "lose-all", false] w in
        let at_nodes = each () in
        let kept = all pair (headed "frozen") in
        let w = headed "candidates" in
        let candidates = match word w with
          | "all" -> All
          | "within" -> Within (int w)
          | "listed" -> Listed (all pair w)
          | _ -> wrong "unknown candidates" in
        let w = headed "flips" in
        let flips_too = word_of ["none", false; "too", true] w in
        let total, direction, each = if flips_too then flips w else (N.zero, "both", Array.make nodes N.zero) in
        (total, direction, each, None, Some { most; at_nodes; flips_too; one_way; removes; inserts; keep_one; kept; candidates }, None)
    | "ranges" ->
        let total = big w in
        let each = each () in
        read_frozen ();
        let w = headed "limits" in
        let limits = match word w with
          | "epsilon" -> Around (dyadic w)
          | "between" -> Between (Array.init attributes (fun _ -> let low = dyadic w in (low, dyadic w)))
          | _ -> wrong "unknown limits" in
        if not (is_end w) then wrong "there are too many limits";
        let value w = let d = int w in if d >= attributes then wrong "an attribute is out of range"; (d, bits w) in
        let values = match word (headed "values") with
          | "entries" -> None
          | "given" -> Some (array nodes (fun () -> all value (words (read_line ()))))
          | _ -> wrong "unknown values" in
        (total, "both", each, None, None, Some { limits; values })
    | _ -> wrong "no budget of flips, of edges or of moved attributes" in
  (* The float nearest to 1 / max(c, 1). *)
  let shares, significand = match word (headed "rows") with
    | "plain" -> (None, 1)
    | "32" when attributes < 1 lsl 24 -> (Some (Array.init (attributes + 1) (fun c -> reciprocal32 (N.of_int (max c 1)))), 24)
    | "64" -> (Some (Array.init (attributes + 1) (fun c -> reciprocal (N.of_int (max c 1)))), 53)
    | _ -> wrong "rows are neither plain nor divided in 32 or 64 bits" in
  if shares <> None && categories <> None then wrong "categories that are divided";
  if shares <> None && (match changes with Some c -> c.flips_too | None -> false) then wrong "flips of divided rows beside changes of edges";
  let w = headed "classes" in
  let label w = match word w with "-" -> None | text -> (match int_of_string_opt text with Some y -> Some y | None -> wrong "a label is no number") in
  let labels = match word w with "predicted" -> None | "labels" -> Some (Array.init nodes (fun _ -> label w)) | _ -> wrong "an unknown convention" in
  let w = headed "attack" in
  let run = ref None in
  let attack = match word w with
    | "each" ->
        if not (is_end w) then begin
          expect "deployed" w;
          let precision = big w in
          let flushes = word_of ["gradual", false; "flushed", true] w in
          if not (is_end w) then wrong "something follows how the network runs";
          if changes <> None then wrong "executions on changed edges";
          (* Numbers of 0 and 1, and quotients of no more bits, are numbers of the format. *)
          let arithmetic = { precision; flushes; reads_exactly = moves = None && N.leq (N.of_int significand) precision } in
          let w = headed "runs" in
          let stages = match word w with
            | "chain" ->
                let last = List.length layers - 1 in
                let reader i wrong_by (l : stored) t numbers =
                  { from_layer = i; through = l.operators.(t); units_wrong = wrong_by.(t); taken_units = l.inputs; among = t; starts = 0; numbers;
                    sizes = None; passed = 0 } in
                List.mapi (fun i (l : stored) ->
                  let wrong_by = Array.of_list (all int (headed "wrong")) in
                  if Array.length wrong_by <> Array.length l.operators then wrong "not one error for each term";
                  { chain_layer = i; starts_at = 0; made_units = l.outputs; activations = if i = last then String.make l.outputs '0' else l.relu;
                    readers = Array.to_list (Array.mapi (reader i wrong_by l) l.weights); offsets = l.biases;
                    offset_sizes = None; passed_by_offsets = 0 }) layers
            | count ->
                let count = match int_of_string_opt count with Some count when count > 0 -> count | _ -> wrong "no layers run" in
                let stage k () =
                  let w = headed "stage" in
                  let chain_layer = int w in let starts_at = int w in let made_units = int w in let terms = int w in let rows = int w in
                  if chain_layer >= List.length layers then wrong "a layer stands nowhere";
                  if rows <> 1 && rows <> nodes then wrong "neither one bias for all nodes nor one for each";
                  let activations = word w in
                  if String.length activations <> made_units then wrong "not one activation for each unit";
                  (* How many roundings parts of numbers pass beside those of a number, and the rows that state their sizes. *)
                  let passed_by_offsets = int w in
                  let size_rows = int w in
                  if size_rows <> 0 && size_rows <> 1 && size_rows <> nodes then wrong "neither one size for all nodes nor one for each";
                  let stated rows = if rows = 0 then None else Some (array rows (row made_units)) in
                  let reader () =
                    let w = headed "reads" in
                    let from_layer = int w in let through = int w in let units_wrong = int w in let taken_units = int w in let among = int w in let starts = int w in
                    if from_layer > k then wrong "a layer reads a later one";
                    if through >= Array.length operators then wrong "there is no such operator";
                    let _column = int w in
                    let passed = int w in
                    let sized = word_of ["whole", false; "parts", true] w in
                    let numbers = array taken_units (row made_units) in
                    { from_layer; through; units_wrong; taken_units; among; starts; numbers; sizes = stated (if sized then taken_units else 0); passed } in
                  let readers = Array.to_list (array terms reader) in
                  let offsets = array rows (row made_units) in
                  { chain_layer; starts_at; made_units; activations; readers; offsets; offset_sizes = stated size_rows; passed_by_offsets } in
                List.init count (fun k -> stage k ()) in
          run := Some (arithmetic, stages)
        end;
        None
    | ("any" | "rows") as kind ->
        let most = if kind = "rows" then Some (big w) else None in
        let named = Array.make nodes false in
        List.iter (fun n -> if n >= nodes then wrong "a node is out of range"; named.(n) <- true) (all int w);
        if batch <> None || shares <> None || categories <> None || changes <> None || moves <> None then wrong "one attack on graphs, categories, divided rows, edges or ranges";
        Some (most, named)
    | _ -> wrong "an unknown attack" in
  { nodes; attributes; targets; present; neighbours; batch; operators; named; layers; total; each; direction; frozen; shares; categories; labels; changes; moves; run = !run; attack }

let has s n d = Char.code (Bytes.get s.present.(n) (d lsr 3)) land (1 lsl (d land 7)) <> 0
let in_range i count = N.fits_int i && (let i = N.to_int i in i >= 0 && i < count)

let problem s =
  let has = has s in
  let attributes n d = in_range n s.nodes && in_range d s.attributes && has (N.to_int n) (N.to_int d) in
  let existing n d = in_range n s.nodes && in_range d s.attributes && not s.frozen.(N.to_int d) in
  let permitted = match s.direction with
    | "add" -> fun n d -> existing n d && not (has (N.to_int n) (N.to_int d))
    | "remove" -> fun n d -> existing n d && has (N.to_int n) (N.to_int d)
    | _ -> existing in
  { attributes; count = N.of_int s.attributes; permitted; total = s.total; each = (fun n -> Option.value (at s.each n) ~default:N.zero) }

(* Which edges may be changed: those of the graph that are not frozen are removed, candidates inserted. *)
let edge_problem s (c : changes) =
  let table list = let t = Hashtbl.create 64 in List.iter (fun x -> Hashtbl.replace t x ()) list; t in
  let rows = Array.mapi (fun v row -> List.sort_uniq compare (List.filter (fun u -> u <> v) row)) s.neighbours in
  let there = table (List.concat (Array.to_list (Array.mapi (fun v row -> List.map (fun u -> (u, v)) row) rows))) in
  if not c.one_way then Hashtbl.iter (fun (u, v) () -> if not (Hashtbl.mem there (v, u)) then wrong "an edge has one direction only") there;
  let kept = table c.kept in
  let joined u v = match s.batch with None -> true | Some graphs -> graphs.(u) = graphs.(v) in
  let behind = Hashtbl.create 64 in
  (* The nodes at most so many steps behind a node. *)
  let near steps v = match Hashtbl.find_opt behind v with
    | Some found -> found
    | None ->
        let found = table [v] in
        let rec go left ring =
          if left > 0 && ring <> [] then
            go (left - 1) (List.filter (fun u -> not (Hashtbl.mem found u) && (Hashtbl.replace found u (); true)) (List.concat_map (fun w -> rows.(w)) ring)) in
        go steps [v];
        Hashtbl.replace behind v found;
        found in
  let candidate = match c.candidates with
    | All -> fun _ _ -> true
    | Within steps -> fun u v -> Hashtbl.mem (near steps v) u
    | Listed list -> let listed = table list in fun u v -> Hashtbl.mem listed (u, v) in
  let may u v = u <> v && joined u v && if Hashtbl.mem there (u, v) then c.removes && not (Hashtbl.mem kept (u, v)) else c.inserts && candidate u v in
  let rows = Array.map (List.map N.of_int) rows in
  { graph_of = (fun v -> Option.value (at rows v) ~default:[]); node_count = N.of_int s.nodes; directed = c.one_way;
    may_change = (fun u v -> in_range u s.nodes && in_range v s.nodes && may (N.to_int u) (N.to_int v));
    most_changes = c.most; most_at = (fun v -> Option.value (at c.at_nodes v) ~default:N.zero); keeps_one = c.keep_one }

let grouping s of_attribute =
  { group_of = (fun d -> N.of_int (Option.value (at of_attribute d) ~default:(-1)));
    groups = N.of_int (1 + Array.fold_left max (-1) of_attribute); nodes_of = N.of_int s.nodes }

(* Scales. Which ones are chosen is of no importance: `to_integer` refuses what does not become an integer. *)
let least_exponent bits = if N.sign (mantissa bits) = 0 then 0 else N.to_int (exponent bits) + tail (mantissa bits)
let finest list = Array.fold_left (fun least x -> min least (least_exponent x)) 0 list

let finest_dyadic least ((m, e) : dyadic) = if N.sign m = 0 then least else min least (e + tail m)
let finest_moves m =
  let ends = match m.limits with Around x -> finest_dyadic 0 x | Between list -> Array.fold_left (fun least (low, high) -> finest_dyadic (finest_dyadic least low) high) 0 list in
  Array.fold_left (List.fold_left (fun least (_, x) -> min least (least_exponent x))) ends (Option.value m.values ~default:[||])

let integer shift x = match to_integer (N.of_int shift) x with Some z -> z | None -> wrong "a float is not finite"

(* The layers of the integer network, the last one first; the scale of every representation from the second on; and of each layer, the last one first, by which
   exponents entries and weights were shifted. `finest_of` and `term` are of an operator: the
   exponent of its finest entry, and the term that it makes at a scale with some weights. *)
let flips s = s.moves = None && match s.changes with Some c -> c.flips_too | None -> true
let scaled_layers s finest_of term layer_of =
  let scales = Array.make (List.length s.layers + 2) 0 in
  (* Where the network runs: room for errors of reading, which are rounded up. *)
  Option.iter (fun shares -> scales.(1) <- (if s.run = None then 0 else 128) - finest shares) s.shares;
  (* Room for values at which ranges are split, and for bounds that are rounded. *)
  Option.iter (fun moves -> scales.(1) <- 64 + max scales.(1) (- finest_moves moves)) s.moves;
  let shifts = ref [] in
  let layer number (l : stored) =
    let a = - Array.fold_left (fun least k -> min least (finest_of s.operators.(k))) 0 l.operators in
    let w = - Array.fold_left (Array.fold_left (fun least r -> min least (finest r))) 0 l.weights in
    (* Layers that run have their weights times the same power. *)
    let w = match s.run with
      | Some (_, stages) ->
          List.fold_left (fun w st -> if st.chain_layer + 1 <> number then w else
            List.fold_left (fun w r -> Array.fold_left (fun w row -> max w (- finest row)) w (Array.append r.numbers (Option.value r.sizes ~default:[||]))) w st.readers) w stages
      | None -> w in
    let b = - Array.fold_left (fun least r -> min least (finest r)) 0 l.biases in
    let b = match s.run with
      | Some (_, stages) ->
          List.fold_left (fun b st -> if st.chain_layer + 1 <> number then b else Array.fold_left (fun b row -> max b (- finest row)) b (Option.value st.offset_sizes ~default:[||])) b stages
      | None -> b in
    let below = scales.(number) in
    let w = max w (b - below - a) in
    (* Room for prices between the multiples of what layer 1 consists of. *)
    let w = if number = 1 && flips s then max (w + if s.shares = None then 32 else 96) (64 - a) else w in
    (* And for errors of executions, which are rounded up. *)
    let w = if number = 1 && s.run <> None then w + 64 else w in
    scales.(number + 1) <- below + a + w;
    shifts := (N.of_int a, N.of_int w) :: !shifts;
    let weights = Array.map (Array.map (Array.map (integer w))) l.weights in
    let biases = Array.map (Array.map (integer (below + a + w))) l.biases in
    let entry rows i j = match at rows i with Some r -> Option.value (at r j) ~default:N.zero | None -> N.zero in
    let one = Array.length biases = 1 in
    (* What the last layer says of its units is of no importance; what runs has no relu there. *)
    layer_of (List.init (Array.length weights) (fun t -> term a s.operators.(l.operators.(t)) (entry weights.(t)))) (N.of_int l.inputs)
      (fun m j -> if N.sign m < 0 || N.geq m (N.of_int s.nodes) then N.zero else entry biases (if one then N.zero else m) j)
      (fun j -> (number < List.length s.layers || s.run = None) && N.sign j >= 0 && N.lt j (N.of_int l.outputs) && l.relu.[N.to_int j] = '1') in
  let layers = List.mapi (fun i l -> layer (i + 1) l) s.layers in
  (List.rev layers, scales, !shifts)

let finest_stated = Array.fold_left (List.fold_left (fun least (_, x) -> min least (least_exponent x))) 0
let integer_rows a rows =
  let rows = Array.map (List.map (fun (n, x) -> (N.of_int n, integer a x))) rows in
  fun m -> Option.value (at rows m) ~default:[]
let stated = function Stated rows -> rows | Follows _ -> wrong "an operator without its entries"

let network s =
  scaled_layers s (fun k -> finest_stated (stated k)) (fun a k weight -> { operator = integer_rows a (stated k); weight })
    (fun terms inputs bias relu -> { terms; Checker.inputs; bias; relu })

(* The network that runs, in integers; where its layers stand in the chain, and what the layers of the chain consist of. The latter need not be right: layers in
   the order of the file, what is passed on to later ones, and products of rows with the weights of terms that read them further up. *)
let running s (a : arithmetic) shifts scales stages =
  let count = List.length s.layers in
  let layers = Array.of_list s.layers and shifts = Array.of_list shifts and stages = Array.of_list stages in
  let entry rows i j = match at rows i with Some r -> Option.value (at r j) ~default:N.zero | None -> N.zero in
  (* What is read as it is: numbers of the format. *)
  let is_number x = let m = N.abs (mantissa x) in N.leq (N.of_int (N.numbits (N.shift_right m (tail m)))) a.precision in
  let rounded numbers = if List.for_all is_number numbers then 0 else 1 in
  let errors_of known k = match List.assoc_opt k !known with
    | Some errors -> errors
    | None -> let errors = Array.map (fun row -> rounded (List.map snd row)) (stated s.operators.(k)) in known := (k, errors) :: !known; errors in
  let known = ref [] in
  let stage st =
    let a, w = shifts.(count - 1 - st.chain_layer) in
    let a = N.to_int a and w = N.to_int w in
    let reader r =
      let rows = integer_rows a (stated s.operators.(r.through)) and weights = Array.map (Array.map (integer w)) r.numbers in
      let errors = errors_of known r.through in
      { read_layer = r.from_layer; read_units = N.of_int r.taken_units;
        entry_error = (fun m -> max r.units_wrong (Option.value (at errors m) ~default:0));
        parts_size = (match r.sizes with Some sizes -> entry (Array.map (Array.map (integer w)) sizes) | None -> fun _ _ -> N.zero); more_roundings = r.passed; passes = { operator = rows; weight = entry weights } } in
    let biases = Array.map (Array.map (integer scales.(st.chain_layer + 2))) st.offsets in
    let one = Array.length biases = 1 in
    let biases_wrong = Array.map (fun row -> rounded (Array.to_list row)) st.offsets in
    { steps = List.map reader st.readers; weight_error = List.fold_left max 0 (List.concat_map (fun r -> List.map (fun row -> rounded (Array.to_list row)) (Array.to_list r.numbers)) st.readers);
      bias_error = (fun m -> Option.value (at biases_wrong (if one then N.zero else m)) ~default:0);
      is_folded = st.passed_by_offsets > 0 || st.offset_sizes <> None || List.exists (fun r -> r.passed > 0 || r.sizes <> None) st.readers;
      bias_parts = (match st.offset_sizes with
        | Some sizes -> let sizes = Array.map (Array.map (integer scales.(st.chain_layer + 2))) sizes in let one = Array.length sizes = 1 in fun m -> entry sizes (if one then N.zero else m)
        | None -> fun _ _ -> N.zero);
      more_for_bias = st.passed_by_offsets;
      stage_bias = (fun m j -> if N.sign m < 0 || N.geq m (N.of_int s.nodes) then N.zero else entry biases (if one then N.zero else m) j);
      rectifies = (fun j -> N.sign j >= 0 && N.lt j (N.of_int st.made_units) && st.activations.[N.to_int j] = '1') } in
  let place st = { layers_above = count - 1 - st.chain_layer; first_unit = N.of_int st.starts_at; wide = N.of_int st.made_units } in
  (* The blocks of a layer of the chain: what they hold, and how many units they have; and where they begin. *)
  let holds c =
    let all = List.init (Array.length stages) (fun k -> k) in
    let later k = stages.(k).chain_layer > c in
    let carried k = List.exists (fun other -> later other && List.exists (fun r -> r.from_layer = k + 1) stages.(other).readers) all in
    let units k = stages.(k).made_units in
    List.filter_map (fun k -> if stages.(k).chain_layer = c then Some (Computed (k + 1), units k) else None) all @
    List.filter_map (fun k -> if stages.(k).chain_layer < c && carried k then Some (Computed (k + 1), units k) else None) all @
    List.concat_map (fun k -> if not (later k) then [] else
      List.concat (List.mapi (fun i r -> if r.from_layer = 0 then [(Product (k, i), units k)] else []) stages.(k).readers)) all in
  let begins c =
    let at = ref 0 in
    List.map (fun (content, width) -> let from = !at in at := from + width; (content, (from, width))) (holds c) in
  let blocks c =
    let below content = if c = 0 then 0 else match List.assoc_opt content (begins (c - 1)) with Some (from, _) -> from | None -> 0 in
    let identity =
      let rec first t = if t >= Array.length layers.(c).operators then 0 else if s.named.(layers.(c).operators.(t)) = "identity" then t else first (t + 1) in
      first 0 in
    List.map (fun (content, (from, width)) ->
      let made = match content with Computed k -> stages.(k - 1).chain_layer = c | Product _ -> c = 0 in
      let takes = match content with
        | Computed k when made ->
            List.mapi (fun i r -> (r.among, N.of_int (if r.from_layer = 0 && c > 0 then below (Product (k - 1, i)) else r.starts))) stages.(k - 1).readers
        | _ -> [(identity, N.of_int (below content))] in
      { block_first = N.of_int from; block_width = N.of_int width; content_of = content; is_made = made; takes }) (begins c) in
  { runs = List.map stage (Array.to_list stages); places = List.map place (Array.to_list stages); blocks = List.rev (List.init count blocks) }

(* The component of each node: one of its nodes. A claim may be rounded down in any parts of the graph. *)
let components s =
  let above = Array.init s.nodes Fun.id in
  let rec root n = if above.(n) = n then n else begin above.(n) <- above.(above.(n)); root above.(n) end in
  let join m (n, _) = let a = root m and b = root n in above.(max a b) <- min a b in
  List.iter (fun (l : stored) -> Array.iter (fun k -> Array.iteri (fun m row -> List.iter (join m) row) (stated s.operators.(k))) l.operators) s.layers;
  let parts = Array.init s.nodes (fun n -> N.of_int (root n)) in
  fun n -> Option.value (at parts n) ~default:(N.of_int (-1))

let remembered f = let known = Hashtbl.create 256 in fun key -> match Hashtbl.find_opt known key with Some x -> x | None -> let x = f key in Hashtbl.add known key x; x

(* What a rule makes of sizes, as floats; other sizes than those of nodes have none. *)
let following s name =
  let existing n = N.sign n > 0 && N.leq n (N.of_int s.nodes) in
  let one = reciprocal N.one in
  let mean i = if existing i then reciprocal i else N.zero in
  let root i j = if existing i && existing j then reciprocal_root i j else N.zero in
  let looped = Array.mapi (fun n row -> List.mem n row) s.neighbours in
  let always _ = true and never _ = false and where_looped n = Option.value (at looped n) ~default:false in
  match name with
  | "gcn" -> ByBoth (always, root)
  | "gcn-self" -> ByBoth (where_looped, root)
  | "mean" -> ByReceiver (where_looped, mean)
  | "mean+self" -> ByReceiver (always, mean)
  | "sum" -> ByReceiver (where_looped, fun _ -> one)
  | "sum+self" -> ByReceiver (always, fun _ -> one)
  | "edges" -> ByReceiver (never, fun _ -> one)
  | _ -> wrong ("the rule '" ^ name ^ "' does not follow from edges")

let edge_network s (c : changes) =
  if c.one_way && Array.mem (Follows "gcn-self") s.operators then wrong "directed edges do not determine gcn-self";
  let finest_of = function
    | Stated rows -> finest_stated rows
    | Follows ("sum" | "sum+self" | "edges") -> 0
    | Follows _ -> - (53 + N.numbits (N.of_int s.nodes)) in
  let rule a = function
    | Stated rows -> Fixed (integer_rows a rows)
    | Follows name -> (match following s name with
        | ByReceiver (itself, entry) -> let entry = remembered (fun (i, _) -> integer a (entry i)) in ByReceiver (itself, fun i -> entry (i, N.zero))
        | ByBoth (itself, entry) -> let entry = remembered (fun (i, j) -> integer a (entry i j)) in ByBoth (itself, fun i j -> entry (i, j))
        | Fixed _ as rule -> rule) in
  scaled_layers s finest_of (fun a k weight -> (rule a k, weight))
    (fun ruled_terms ruled_inputs ruled_bias ruled_relu -> { ruled_terms; ruled_inputs; ruled_bias; ruled_relu })

(* What the first layer reads, in integers. *)
let read_rows s scale =
  let counts = Array.init s.nodes (fun n -> List.length (List.filter (has s n) (List.init s.attributes (fun d -> d)))) in
  let shares = Option.map (Array.map (integer scale)) s.shares and one = integer scale (reciprocal N.one) in
  fun n d ->
    if not (in_range n s.nodes && in_range d s.attributes && has s (N.to_int n) (N.to_int d)) then N.zero
    else match shares with None -> one | Some shares -> shares.(counts.(N.to_int n))

(* Where attributes are moved: what the first layer reads, and from where to where each entry may be moved, in integers. *)
let range_rows s m scale =
  let whole ((mantissa, e) : dyadic) = if e + scale >= 0 then N.shift_left mantissa (e + scale) else
    let z = N.shift_right mantissa (- (e + scale)) in if N.equal (N.shift_left z (- (e + scale))) mantissa then z else wrong "a limit is no integer" in
  (* Each row is computed when it is first asked for. *)
  let each_row of_row outside =
    let rows = Array.init s.nodes (fun n -> lazy (of_row n)) in
    fun n d -> if in_range n s.nodes && in_range d s.attributes then (Lazy.force rows.(N.to_int n)).(N.to_int d) else outside in
  let read = match m.values with
    | None -> let read = read_rows s scale in each_row (fun n -> Array.init s.attributes (fun d -> read (N.of_int n) (N.of_int d))) N.zero
    | Some rows -> each_row (fun n -> let row = Array.make s.attributes N.zero in List.iter (fun (d, x) -> row.(d) <- integer scale x) rows.(n); row) N.zero in
  let moves = match m.limits with
    | Around x ->
        let x = whole x in
        let of_zero = (N.neg x, x) in
        let around v = if N.sign v = 0 then of_zero else (N.sub v x, N.add v x) in
        each_row (fun n -> Array.init s.attributes (fun d -> around (read (N.of_int n) (N.of_int d)))) of_zero
    | Between list -> let list = Array.map (fun (low, high) -> (whole low, whole high)) list in fun _ d -> Option.value (at list d) ~default:(N.zero, N.zero) in
  (read, moves)

(* From here on nothing needs to be right. Numbers of hints are mantissas and exponents. *)
let up ((m, e) : dyadic) scale = let e = e + scale in if e >= 0 then N.shift_left m e else N.neg (N.shift_right (N.neg m) (- e))
let id w = N.of_int (int w)

type raw_prices = dyadic * (N.t * dyadic) list
type raw = {
  slopes : (N.t * N.t * N.t * dyadic) list; lines : (N.t * N.t * dyadic * dyadic) list; reaches : (N.t * N.t * raw_prices * raw_prices) list option; (* none where the best are to be chosen *)
  levels : (N.t * N.t * dyadic * dyadic * raw_prices) list;
  envelopes : (N.t * N.t * dyadic * dyadic * (N.t * dyadic) list * (N.t * N.t * dyadic) list) list;
  supports : (N.t * N.t * dyadic * dyadic * raw_prices) list; nested : (N.t * N.t * dyadic * dyadic * raw_prices) list; prices : raw_prices }

let raw_prices w : raw_prices = let every = dyadic w in (every, many w (fun w -> let n = id w in (n, dyadic w)))
let raw_reach w =
  let start = w.at in
  if word w = "best" then None
  else begin
    w.at <- start;
    Some (many w (fun w -> let n = id w in let j = id w in let first = raw_prices w in (n, j, first, raw_prices w)))
  end
let raw w =
  let slopes = many w (fun w -> let l = id w in let n = id w in let j = id w in (l, n, j, dyadic w)) in
  let lines = many w (fun w -> let n = id w in let j = id w in let rise = dyadic w in (n, j, rise, dyadic w)) in
  let reaches = raw_reach w in
  let raw_levels w = many w (fun w -> let n = id w in let j = id w in let c = dyadic w in let t = dyadic w in (n, j, c, t, raw_prices w)) in
  let levels = raw_levels w in
  let envelopes = many w (fun w ->
    let n = id w in let j = id w in let c = dyadic w in let t = dyadic w in
    let nodes = many w (fun w -> let n = id w in (n, dyadic w)) in
    (n, j, c, t, nodes, many w (fun w -> let n = id w in let d = id w in (n, d, dyadic w)))) in
  let supports = raw_levels w in
  let nested = raw_levels w in
  { slopes; lines; reaches; levels; envelopes; supports; nested; prices = raw_prices w }

(* The exponent of the unit that slopes of supports are multiples of. *)
let need scale least ((m, e) : dyadic) = if N.sign m = 0 then least else max least (- (e + tail m) - scale)
let unit_exponent (r : raw) = List.fold_left (fun least (_, _, omega, _, _) -> need 0 least omega) 0 r.supports

(* The exponent by which an objective of a layer is scaled so that slopes and prices are integers. *)
let room scales top (r : raw) =
  let at_layer l = scales.(top) - scales.(l) in
  let room = List.fold_left (fun least (l, _, _, x) -> let l = N.to_int l in if l < Array.length scales then need (at_layer l) least x else least) 0 r.slopes in
  let room = List.fold_left (fun least (_, _, rise, fall) -> need (at_layer 2) (need (at_layer 2) least rise) fall) room r.lines in
  let room = List.fold_left (fun least (_, _, c, _, _) -> need (at_layer 2) least c) room r.levels in
  let room = List.fold_left (fun least (_, _, c, _, _, _) -> need (at_layer 2) least c) room r.envelopes in
  let room = if top < 3 then room else List.fold_left (fun least (_, _, c, _, _) -> need (at_layer 3 - unit_exponent r) least c) room r.nested in
  List.fold_left (fun least (_, x) -> need scales.(top) least x) (need scales.(top) room (fst r.prices)) (snd r.prices)

let cook scales top room (r : raw) : hints =
  let at_layer l = let l = N.to_int l in if l < Array.length scales then room + scales.(top) - scales.(l) else 0 in
  let two = scales.(2) and layer2 = room + scales.(top) - scales.(2) in
  let prices scale ((every, nodes) : raw_prices) = { every = up every scale; nodes = List.map (fun (n, x) -> (n, up x scale)) nodes } in
  let table list = let t = Hashtbl.create 64 in List.iter (fun (k, x) -> Hashtbl.replace t k x) list; t in
  let slopes = table (List.map (fun (l, n, j, s) -> ((l, n, j), up s (at_layer l))) r.slopes) in
  let lines = table (List.map (fun (n, j, rise, fall) -> ((n, j), (up rise layer2, up fall layer2))) r.lines) in
  let reaches = Option.map (fun list -> table (List.map (fun (n, j, a, b) -> ((n, j), (prices two a, prices two b))) list)) r.reaches in
  let bends = Hashtbl.create 64 in
  List.iter (fun (n, j, c, t, p) -> Hashtbl.add bends (n, j) { share = up c layer2; shape = Level (up t two, prices two p) }) r.levels;
  List.iter (fun (n, j, c, every, nodes, flips) ->
    let part sign ((m, e) : dyadic) = let m = if sign > 0 then m else N.neg m in up ((if N.sign m > 0 then m else N.zero), e) two in
    let offer sign = { common = { every = part sign every; nodes = List.map (fun (n, x) -> (n, part sign x)) nodes };
                       own = List.map (fun (n, d, x) -> ((n, d), part sign x)) flips } in
    Hashtbl.add bends (n, j) { share = up c layer2; shape = Envelope (offer 1, offer (-1)) }) r.envelopes;
  let unit = unit_exponent r in
  let supports = table (List.map (fun (n, j, omega, t, p) -> ((n, j), (up omega unit, { limit = up t two; toll = prices two p }))) r.supports) in
  let nested = Hashtbl.create 64 in
  if top >= 3 then begin
    let three = scales.(3) + unit and layer3 = room + scales.(top) - scales.(3) - unit in
    List.iter (fun (n, j, c, t, p) -> Hashtbl.add nested (n, j) (up c layer3, { limit = up t three; toll = prices three p })) r.nested
  end;
  let free = { every = N.zero; nodes = [] } in
  { slope = (fun l n j -> Option.value (Hashtbl.find_opt slopes (l, n, j)) ~default:N.zero);
    line = (fun n j -> Option.value (Hashtbl.find_opt lines (n, j)) ~default:(N.zero, N.zero));
    reach = (fun n j -> Option.map (fun known -> Option.value (Hashtbl.find_opt known (n, j)) ~default:(free, free)) reaches);
    bends = (fun n j -> Hashtbl.find_all bends (n, j));
    one = N.shift_left N.one unit;
    support = (fun n j -> Hashtbl.find_opt supports (n, j));
    nested = (fun n j -> Hashtbl.find_all nested (n, j));
    price = prices (room + scales.(top)) r.prices }

type raw_tree = RawLeaf of raw | RawRow of N.t * bool * N.t * raw_tree * raw_tree | RawFlip of flip * raw_tree * raw_tree | RawUnit of N.t * N.t * N.t * raw_tree * raw_tree
let rec raw_tree w = match word w with
  | "L" -> RawLeaf (raw w)
  | "R" ->
      let n = id w in let most = id w in
      let removed = match word w with "added" -> false | "removed" -> true | _ -> wrong "neither added nor removed" in
      let first = raw_tree w in RawRow (n, removed, most, first, raw_tree w)
  | "F" -> let n = id w in let d = id w in let first = raw_tree w in RawFlip ((n, d), first, raw_tree w)
  | "U" -> let l = id w in let n = id w in let j = id w in let first = raw_tree w in RawUnit (l, n, j, first, raw_tree w)
  | other -> wrong ("'" ^ other ^ "' is no part of a tree")
let rec tree_room scales top = function
  | RawLeaf r -> room scales top r
  | RawRow (_, _, _, a, b) | RawFlip (_, a, b) | RawUnit (_, _, _, a, b) -> max (tree_room scales top a) (tree_room scales top b)
let rec cook_tree scales top room = function
  | RawLeaf r -> Hinted (cook scales top room r)
  | RawRow (n, removed, most, a, b) -> Row (n, removed, most, cook_tree scales top room a, cook_tree scales top room b)
  | RawFlip (f, a, b) -> Flip (f, cook_tree scales top room a, cook_tree scales top room b)
  | RawUnit (l, n, j, a, b) -> Unit (l, n, j, cook_tree scales top room a, cook_tree scales top room b)

let bounds_line scales w =
  let layer = int w in
  let node = id w in
  if layer < 3 || layer >= Array.length scales then wrong "there are no bounds of such a layer";
  let none = ((N.zero, 0), []) in
  let reaches = raw_reach w in
  let with_reach = cook scales layer 0 { slopes = []; lines = []; reaches; levels = []; envelopes = []; supports = []; nested = []; prices = none } in
  let hints w = many w (fun w -> expect "L" w; let r = raw w in let room = room scales layer r in (N.shift_left N.one room, cook scales layer room r)) in
  { at_layer = N.of_int layer; at_node = node; with_reach; units = many w (fun w -> let j = id w in let low = hints w in (j, (low, hints w))) }

(* Trees of other classes, and what margins are times so that all their hints are integers. *)
let robust scales top w =
  let trees = many w (fun w -> let other = id w in (other, raw_tree w)) in
  let room = List.fold_left (fun room (_, t) -> max room (tree_room scales top t)) 0 trees in
  (N.shift_left N.one room, List.map (fun (other, t) -> (other, cook_tree scales top room t)) trees)

let whole_prices w = let every = big w in { every; nodes = many w (fun w -> let n = id w in (n, big w)) }

let share_line scales top owner reference w =
  let of_weight = big w in
  let of_size = big w in
  let stated_count = big w in
  let stated_prices = whole_prices w in
  let leaf w = let other = id w in expect "L" w; let r = raw w in let room = room scales top r in (other, (N.shift_left N.one room, cook scales top room r)) in
  let leaves = many w leaf in
  let stated_covers = many w (fun w -> let weight = big w in (weight, many w (fun w -> let n = id w in (n, id w)))) in
  { owner; reference; of_weight; of_size; leaves; stated_count; stated_prices; stated_covers }

let rec edge_tree leaf w = match word w with
  | "A" -> ListAll (leaf w)
  | "S" -> let i = id w in let c = (i, id w) in let without = edge_tree leaf w in EdgeSplit (c, without, edge_tree leaf w)
  | other -> wrong ("'" ^ other ^ "' is no part of a tree")
let edges w = many w (fun w -> let i = id w in (i, id w))
let edge_claim w = match word w with
  | "robust" -> let work = big w in KeepsClass (work, many w (fun w -> let others = many w id in (others, edge_tree (fun _ -> ()) w)))
  | "witness" -> let other = id w in LosesClass (other, edges w)
  | other -> wrong ("'" ^ other ^ "' is no claim")

(* Proofs about flips and edges at once: leaves have lines of bounds and trees over flips for the graphs after some sets of changes. *)
let flip_proof scales top w =
  let first_lines = many w (fun w -> expect "bounds" w; bounds_line scales w) in
  let times_all, flip_trees = robust scales top w in
  { first_lines; times_all; flip_trees }
let joint_claim scales top w = match word w with
  | "robust" ->
      let leaf w = many w (fun w -> let set = edges w in (set, flip_proof scales top w)) in
      let work = big w in
      KeepsJointly (work, many w (fun w -> let others = many w id in (others, edge_tree leaf w)))
  | "witness" -> let other = id w in let changed = edges w in LosesJointly (other, changed, edges w)
  | other -> wrong ("'" ^ other ^ "' is no claim")

(* Proofs about moved attributes. Objectives are times 2^64, so that slopes hardly lose by being rounded. *)
let room_of_slopes = 64
let range_lines scales w =
  let list w = many w (fun w -> let l = id w in let n = id w in let j = id w in ((l, n, j), dyadic w)) in
  let table list = let t = Hashtbl.create 64 in List.iter (fun (k, x) -> Hashtbl.replace t k x) list; t in
  let slopes = table (list w) in
  let prices = table (list w) in
  let top = Array.length scales - 1 in
  let at_layer l = let l = N.to_int l in if l < Array.length scales then room_of_slopes + scales.(top) - scales.(l) else 0 in
  { slope_at = (fun l n j -> Option.map (fun (m, e) -> (N.shift_left m (max e 0), N.shift_left N.one (max (- e) 0))) (Hashtbl.find_opt slopes (l, n, j)));
    price_at = (fun l n j -> match Hashtbl.find_opt prices (l, n, j) with Some x -> up x (at_layer l) | None -> N.zero) }
let rec range_tree scales w = match word w with
  | "L" -> Lines (range_lines scales w)
  | "U" -> let l = id w in let n = id w in let j = id w in let first = range_tree scales w in UnitSplit (l, n, j, first, range_tree scales w)
  | "E" -> let n = id w in let d = id w in let first = range_tree scales w in EntrySplit ((n, d), first, range_tree scales w)
  | "V" -> let n = id w in let d = id w in let v = up (dyadic w) scales.(1) in let first = range_tree scales w in ValueSplit ((n, d), v, first, range_tree scales w)
  | other -> wrong ("'" ^ other ^ "' is no part of a tree")
let range_claim scales w = match word w with
  | "robust" -> Keeps (N.shift_left N.one room_of_slopes, many w (fun w -> let other = id w in (other, range_tree scales w)))
  | "witness" ->
      let other = id w in
      let entries = many w (fun w -> let n = id w in let d = id w in ((n, d), dyadic w)) in
      let more = List.fold_left (fun least (_, x) -> need scales.(1) least x) 0 entries in
      Moved (other, N.shift_left N.one more, List.map (fun (f, x) -> (f, up x (scales.(1) + more))) entries)
  | other -> wrong ("'" ^ other ^ "' is no claim")

let () =
  (* Most of what is allocated is of no use a moment later. *)
  Gc.set { (Gc.get ()) with Gc.minor_heap_size = 1 lsl 23; space_overhead = 400 };
  try
    let s = statement () in
    let nodes = N.of_int s.nodes in
    let classes = N.of_int (match List.rev s.layers with last :: _ -> last.outputs | [] -> wrong "there are no layers") in
    let ended w = if not (is_end w) then wrong "something follows the claim" in
    let node w =
      let node = int w in
      let reference = int w in
      if node >= s.targets then wrong "there is no such node";
      (node, reference) in
    let called = function IsRobust -> "robust" | IsBroken -> "non-robust" | IsTied -> "tie" in
    let label_is node reference = match s.labels with Some labels -> labels.(node) = Some reference | None -> true in
    (* How a claim is read and judged. *)
    let by_edges claim_of judge w =
      expect "node" w;
      let node, reference = node w in
      if not (label_is node reference) then wrong "the class is not the label";
      let claim = claim_of w in
      ended w;
      match judge (s.labels = None) (N.of_int node) (N.of_int reference) claim with
      | Said verdict -> called verdict
      | NotShown -> "rejected"
      | TooMuchWork -> "too many sets of changes" in
    let by_flips () =
      let net, scales, shifts = network s in
      let top = Array.length scales - 1 in
      let each_node judge prepared p =
        let whole = ref no_bounds in
        fun w -> match word w with
        | "bounds" ->
            let l = bounds_line scales w in
            (match add_line prepared !whole l with
             | Some more -> whole := more; "bounds"
             | None -> "rejected")
        | "node" ->
            let node, reference = node w in
            if not (label_is node reference) then wrong "the class is not the label";
            let claim = match word w with
              | "robust" -> let scale, trees = robust scales top w in Robust (scale, trees)
              | "witness" -> let other = id w in Witness (other, many w (fun w -> let n = id w in (n, id w)))
              | other -> wrong ("'" ^ other ^ "' is no claim") in
            ended w;
            (match judge p !whole (s.labels = None) (N.of_int node) (N.of_int reference) claim with
              | Some verdict -> called verdict
              | None -> "rejected")
        | other -> wrong ("'" ^ other ^ "' is no line") in
      let one_attack tools p most named =
        let known = ref nothing_known in
        let counts n y = match at named n with Some true -> N.fits_int y && label_is (N.to_int n) (N.to_int y) | _ -> false in
        let taken answer line = match take_line tools p !known line with Some more -> known := more; answer | None -> "rejected" in
        fun w -> match word w with
        | "bounds" -> taken "bounds" (BoundsLine (bounds_line scales w))
        | "node" ->
            let node, reference = node w in
            expect "robust" w;
            let scale, trees = robust scales top w in
            ended w;
            taken "robust" (SafeLine (N.of_int node, N.of_int reference, scale, trees))
        | "share" ->
            let node, reference = node w in
            let line = share_line scales top (N.of_int node) (N.of_int reference) w in
            ended w;
            taken "share" (ShareLine line)
        | "claim" ->
            let bound = big w in
            let prices = whole_prices w in
            let parts = match word w with "whole" -> None | "components" -> Some (components s) | other -> wrong ("'" ^ other ^ "' is no way to round") in
            ended w;
            if claim_holds tools p !known most parts (N.of_int s.nodes) counts bound prices then "holds" else "rejected"
        | other -> wrong ("'" ^ other ^ "' is no line") in
      let p = problem s in
      let judging d = each_node (judge_deployed d) d.Checker.exactly in
      let as_it_runs = function Some d -> judging d p | None -> wrong "no such format, a chain of other values, or the first layer does not take the attributes" in
      let unfit () = wrong "the first layer does not take the attributes" in
      let exactly prepared p = each_node (judge prepared) prepared p in
      match s.attack, s.categories, s.shares with
        | Some (most, named), _, _ -> (match prepare_collective net classes p with Some tools -> one_attack tools p most named | None -> unfit ())
        | None, None, Some shares ->
            let shares = Array.map (integer scales.(1)) shares in
            let share count = Option.value (at shares count) ~default:N.zero in
            (match s.run with
             | Some (a, stages) -> as_it_runs (prepare_deployed_rows a (N.of_int scales.(1)) nodes net shifts classes (running s a shifts scales stages) p share)
             | None -> match prepare_rows net classes p share with Some prepared -> exactly prepared p | None -> unfit ())
        | None, None, None when s.run <> None ->
            let a, stages = Option.get s.run in
            as_it_runs (prepare_deployed a nodes net shifts classes (running s a shifts scales stages) p)
        | None, None, None -> (match prepare net classes p no_rivals with Some prepared -> exactly prepared p | None -> unfit ())
        | None, Some of_attribute, _ ->
            let groups = grouping s of_attribute in
            let unfit () = wrong "a row has two categories of a group, no such format, or the first layer does not take the attributes" in
            (match s.run with
             | Some (a, stages) -> (match prepare_deployed_categories a nodes net shifts classes (running s a shifts scales stages) p groups with Some (d, p) -> judging d p | None -> unfit ())
             | None -> match prepare_categories net classes p groups with Some (prepared, p) -> exactly prepared p | None -> unfit ()) in
    let by_ranges scales judge w =
      expect "node" w;
      let node, reference = node w in
      if not (label_is node reference) then wrong "the class is not the label";
      let claim = range_claim scales w in
      ended w;
      match judge (s.labels = None) (N.of_int node) (N.of_int reference) claim with
      | Some verdict -> called verdict
      | None -> "rejected" in
    let answer = match s.changes, s.moves with
      | None, None -> by_flips ()
      | None, Some moves ->
          let net, scales, shifts = network s in
          let read, limits = range_rows s moves scales.(1) in
          (match s.run with
           | Some (a, stages) -> (match prepare_deployed_ranges a (N.of_int scales.(1)) nodes net shifts classes (running s a shifts scales stages) (problem s) read limits with
               | Some prepared -> by_ranges scales (judge_deployed_ranges prepared)
               | None -> wrong "no such format, a chain of other values, or the first layer does not take the attributes")
           | None -> match prepare_ranges net classes (problem s) read limits with
               | Some prepared -> by_ranges scales (judge_ranges prepared)
               | None -> wrong "there are no layers")
      | Some changes, _ ->
          let net, scales, _ = edge_network s changes in
          if changes.flips_too then
            match prepare_joint net classes (edge_problem s changes) (problem s) with
            | Some prepared -> by_edges (joint_claim scales (Array.length scales - 1)) (judge_joint prepared)
            | None -> wrong "there are no layers, or the first does not take the attributes"
          else
            match prepare_changes net classes (edge_problem s changes) (read_rows s scales.(1)) with
            | Some prepared -> by_edges edge_claim (judge_changes prepared)
            | None -> wrong "there are no layers" in
    print_endline "ready";
    let rec go () = match input_line stdin with
      | text ->
          incr line_number;
          (* A proof that cannot be read is rejected, and the next one is looked at. *)
          print_endline (try answer (words text) with Wrong text -> "rejected: " ^ text | N.Overflow -> "rejected: a number is too large");
          go ()
      | exception End_of_file -> () in
    go ()
  with
  | Wrong text -> Printf.eprintf "gcnproof-verified: line %d: %s\n" !line_number text; exit 2
  | N.Overflow -> Printf.eprintf "gcnproof-verified: line %d: an id is too large\n" !line_number; exit 2

// No job waits for ever under the default policy, whatever comes later.
//
// Go: Queue.choose of package kit/queue and Threshold of package kit/reserve, whose Reserve is Counted, as package leastwork has
// them.
// Theorem: "No job starves" in the comment of package leastwork; its proof is in docs/theory/leastwork.md.
//
// One job waits from its turn D on, in a class of n slots of which k are reserved. Time is whole: its unit can be as small as one
// likes.

// The order. A job comes before another if its turn is earlier, and else by arrival. Its turn is never before its arrival: the rest
// of it is 512 times its work, or what its attempts lost.
datatype Job = Job(arrival: int, rest: int)

function Turn(j: Job): int { j.arrival + j.rest }

predicate Before(a: Job, b: Job) { Turn(a) < Turn(b) || (Turn(a) == Turn(b) && a.arrival <= b.arrival) }

// Whoever comes after D is behind a job whose turn is D or earlier.
lemma WhoComesLaterIsBehind(j: Job, later: Job, d: int)
  requires Turn(j) <= d // needed
  requires later.arrival >= d // needed
  requires later.arrival > j.arrival // needed
  requires later.rest >= 0 // needed
  ensures !Before(later, j)
{}

// So the first job of the order is due from D on: as long as the job waits, what starts is the first job's, or out of turn.
lemma TheFirstIsDue(first: Job, j: Job, d: int)
  requires Before(first, j) // needed
  requires Turn(j) <= d // needed
  ensures Turn(first) <= d
{}

lemma NotNegative(a: int, b: int)
  requires a >= 0 && b >= 0
  ensures a * b >= 0
{}

// A level of 0 to 15 leaves floor(level k/15 + 1/2) slots free: no level leaves more than k.
lemma NoLevelLeavesMore(level: int, k: int)
  requires level <= 15 // needed
  requires k >= 0 // needed
  ensures (2 * (level * k) + 15) / 30 <= k
{
  NotNegative(15 - level, k);
  assert (15 - level) * k == 15 * k - level * k;
}

// An attempt that was started in turn, or before D, holds its slot for the time left. An attempt from before D may be one that
// was started out of turn.
datatype Attempt = Attempt(left: int, out: bool)

// The class at an instant after D: the attempts that were started in turn or before D, how many others run, which were started
// out of turn after D, and the slot time of what is still to be started of the job and of those that came before D.
datatype State = State(good: seq<Attempt>, out: nat, rest: int)

function Left(s: seq<Attempt>): int { if |s| == 0 then 0 else s[0].left + Left(s[1..]) }

// Old returns how many attempts from before D count as free, since they were started out of turn.
function Old(s: seq<Attempt>): nat { if |s| == 0 then 0 else (if s[0].out then 1 else 0) + Old(s[1..]) }

function Free(s: State, n: int): int { n - |s.good| - s.out }

// Stopped says that the first job does not start: no slot is free, or not more of them are free or held out of turn than its level
// leaves, which are k at most.
predicate Stopped(s: State, n: int, k: int) { Free(s, n) == 0 || Free(s, n) + s.out + Old(s.good) <= k }

datatype Step = Wait(time: int) | End(i: nat) | EndOut | StartInTurn(time: int) | StartOut

predicate May(s: State, st: Step, n: int) {
  match st
    case Wait(t) => t >= 0 && forall i :: 0 <= i < |s.good| ==> s.good[i].left >= t
    case End(i) => i < |s.good|
    case EndOut => s.out > 0
    case StartInTurn(t) => Free(s, n) > 0 && 0 <= t <= s.rest
    case StartOut => Free(s, n) > 0
}

function Waited(s: seq<Attempt>, t: int): seq<Attempt> {
  if |s| == 0 then [] else [Attempt(s[0].left - t, s[0].out)] + Waited(s[1..], t)
}

function After(s: State, st: Step, n: int): State
  requires May(s, st, n)
{
  match st
    case Wait(t) => State(Waited(s.good, t), s.out, s.rest)
    case End(i) => State(s.good[..i] + s.good[i+1..], s.out, s.rest)
    case EndOut => State(s.good, s.out - 1, s.rest)
    case StartInTurn(t) => State([Attempt(t, false)] + s.good, s.out, s.rest - t)
    case StartOut => State(s.good, s.out + 1, s.rest)
}

function Time(st: Step): int { if st.Wait? then st.time else 0 }

predicate Valid(s: State, n: int, k: int) {
  |s.good| + s.out <= n && s.out <= k && s.rest >= 0 && forall i :: 0 <= i < |s.good| ==> s.good[i].left >= 0
}

// Work returns the slot time that is still to pass in turn.
function Work(s: State): int { s.rest + Left(s.good) }

lemma OneMore(n: int, t: int)
  ensures (n + 1) * t == n * t + t
{}

lemma WaitedTakes(s: seq<Attempt>, t: int)
  ensures |Waited(s, t)| == |s| && Left(Waited(s, t)) == Left(s) - |s| * t
  ensures forall i :: 0 <= i < |s| ==> Waited(s, t)[i].left == s[i].left - t
{
  if |s| > 0 {
    WaitedTakes(s[1..], t);
    OneMore(|s| - 1, t);
  }
}

lemma EndTakes(s: seq<Attempt>, i: nat)
  requires i < |s|
  ensures Left(s[..i] + s[i+1..]) == Left(s) - s[i].left
{
  if i == 0 { assert s[..0] + s[1..] == s[1..]; } else {
    EndTakes(s[1..], i - 1);
    assert s[..i] + s[i+1..] == [s[0]] + (s[1..][..i-1] + s[1..][i..]);
  }
}

lemma LeftBounds(s: seq<Attempt>, p: int)
  requires forall i :: 0 <= i < |s| ==> 0 <= s[i].left <= p
  ensures 0 <= Left(s) <= |s| * p
{ if |s| > 0 { LeftBounds(s[1..], p); assert |s| * p == p + (|s| - 1) * p; } }

// While the job waits, n-k slots at least run what was started in turn or before D, whenever the driver has offered all slots.
lemma SlotsInTurn(s: State, n: int, k: int)
  requires s.out <= k // needed
  requires Stopped(s, n, k) // needed
  ensures |s.good| >= n - k
{}

// A step keeps what is held out of turn at k at most. When time passes, n-k slots work in turn.
lemma StepKeeps(s: State, st: Step, n: int, k: int)
  requires Valid(s, n, k) // needed
  requires May(s, st, n)
  requires st.StartOut? ==> Stopped(s, n, k) // needed
  requires st.Wait? ==> Stopped(s, n, k) // needed
  ensures Valid(After(s, st, n), n, k)
  ensures Work(After(s, st, n)) + Time(st) * (n - k) <= Work(s)
{
  match st {
    case Wait(t) =>
      WaitedTakes(s.good, t);
      SlotsInTurn(s, n, k);
      NotNegative(t, |s.good| - (n - k));
      assert t * (|s.good| - (n - k)) == |s.good| * t - t * (n - k);
    case End(i) => EndTakes(s.good, i);
    case EndOut =>
    case StartInTurn(t) => assert ([Attempt(t, false)] + s.good)[1..] == s.good;
    case StartOut =>
  }
}

// A run is steps one after the other, while the job waits: the first job of the order is stopped whenever time passes or another
// one starts.
predicate Waits(s: State, run: seq<Step>, n: int, k: int)
  decreases |run|
{
  |run| > 0 ==> May(s, run[0], n) && ((run[0].StartOut? || run[0].Wait?) ==> Stopped(s, n, k)) && Waits(After(s, run[0], n), run[1..], n, k)
}

function TimeOf(run: seq<Step>): int { if |run| == 0 then 0 else Time(run[0]) + TimeOf(run[1..]) }

lemma RunKeeps(s: State, run: seq<Step>, n: int, k: int)
  requires Valid(s, n, k) // needed
  requires Waits(s, run, n, k) // needed
  ensures TimeOf(run) * (n - k) <= Work(s)
  decreases |run|
{
  if |run| == 0 {
    LeftIsNotNegative(s.good);
  } else {
    var t, rest := Time(run[0]), TimeOf(run[1..]);
    StepKeeps(s, run[0], n, k);
    RunKeeps(After(s, run[0], n), run[1..], n, k);
    assert (t + rest) * (n - k) == t * (n - k) + rest * (n - k);
  }
}

lemma LeftIsNotNegative(s: seq<Attempt>)
  requires forall i :: 0 <= i < |s| ==> s[i].left >= 0
  ensures Left(s) >= 0
{ if |s| > 0 { LeftIsNotNegative(s[1..]); } }

// The theorem: a job that waits from D on, while X is still to be started and no attempt from before holds its slot for longer
// than p, has not waited for longer than (X + n p)/(n-k).
lemma NoJobStarves(s: State, run: seq<Step>, n: int, k: int, p: int)
  requires n >= |s.good|
  requires k >= 0 && p >= 0
  requires s.rest >= 0
  requires forall i :: 0 <= i < |s.good| ==> 0 <= s.good[i].left <= p // needed
  requires s.out == 0 // needed
  requires Waits(s, run, n, k) // needed
  ensures TimeOf(run) * (n - k) <= s.rest + n * p
{
  RunKeeps(s, run, n, k);
  LeftBounds(s.good, p);
  NotNegative(n - |s.good|, p);
  assert (n - |s.good|) * p == n * p - |s.good| * p;
}

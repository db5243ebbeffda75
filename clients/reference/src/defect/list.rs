//! Every deliberate mistake: what a real engineer did, which rules it breaks, and the reports that tell of it.

use super::defects;

defects! {
    // Bytes and lines.
    SplitsAtUnicodeSeparators: "C-SSE-3"; "B001"; "Cuts lines with the language's own splitter, which also cuts at U+2028, U+2029, U+0085, vertical tab and form feed.";
    KnowsOnlyLf: "C-SSE-3"; "B005"; "Looks for LF alone and strips a CR before it, so that a lone CR ends no line.";
    KeepsByteOrderMark: "C-SSE-3"; "B007"; "Doesn't drop the byte order mark, which then is part of the first field's name.";
    DropsEveryByteOrderMark: "C-SSE-3", "C-DATA-1"; "B007"; "Drops U+FEFF wherever it stands instead of once at the start.";
    ForgetsCrBetweenReads: "C-SSE-4"; "B003"; "Forgets at the end of a read that it ended with CR, so the LF that comes next ends a second line.";
    DecodesEachReadAlone: "C-SSE-4", "C-DATA-1"; "B016"; "Decodes each read as text by itself, so a character that two reads share is lost.";
    ParsesEachReadAlone: "C-SSE-4"; "B004"; "Throws away what the end of a read left of a line.";
    ObeysCharsetLabel: "C-DATA-1"; "B020"; "Believes the charset of the content type, though an event stream is always UTF-8.";

    // Fields and frames.
    KeepsLastDataLine: "C-SSE-5"; "B015"; "Overwrites the data with each `data:` line instead of adding to it.";
    KeepsFirstDataLine: "C-SSE-5"; "B015"; "Takes the first `data:` line and ignores those that follow.";
    NeedsBlankAfterColon: "C-SSE-5"; "B015"; "Cuts at colon and blank, so a field without the blank is not known.";
    TakesCommentsForData: "C-SSE-5"; "B009"; "Finds `data` anywhere in a line, a comment included, and takes comments for data.";
    DiesOfUnknownFields: "C-SSE-5"; "B022"; "Takes a field that it doesn't know for a broken stream.";
    DecodesFramesWithoutData: "C-SSE-5"; "B009"; "Hands the empty data of a frame without any to the JSON decoder, and dies of it.";
    BelievesFramesWithoutData: "C-SSE-5", "C-RUN-2"; "B011"; "Acts on the event's name when a frame has no data.";
    TakesIdWithNul: "C-SSE-5"; "B012"; "Takes an id that holds NUL, cut there as no header could hold it.";
    EventWithoutIdClearsCursor: "C-SSE-5", "C-SSE-1"; "B014"; "Sets the cursor from every event, and to nothing when an event has no id.";
    DispatchesUnfinishedFrame: "C-SSE-6"; "B008"; "Hands out what is left when the connection ends, as if the blank line had come.";
    TakesUnfinishedId: "C-SSE-6", "C-SSE-1"; "B008"; "Moves the cursor when it reads the id line, though the frame is not yet whole.";
    LimitsLinesTo64Kib: "C-SSE-7"; "B017"; "Reads lines with a scanner of 64 KiB, which stops for good at a longer one.";
    LimitsEventsTo1Mb: "C-SSE-7"; "B017"; "Drops an event of more than a million bytes without a word.";
    RescansTheBuffer: "C-SSE-8"; "-"; "Decodes the whole buffer anew with each read, which takes quadratic time.";
    NeedsEventLine: "C-SSE-5"; "B024"; "Drops frames without an `event:` line, though their JSON tells the type.";
    BelievesEventNameAlone: "C-RUN-2"; "B024"; "Believes the `event:` line though the JSON says another type.";
    DiesOfUnknownTypes: "C-SSE-9"; "B022"; "Takes an event type that it doesn't know for a broken stream.";
    RefusesUnknownMembers: "C-SSE-9"; "B022"; "Decodes events into a closed shape and dies of a member that it doesn't know.";

    // The cursor.
    NoCursorOnReconnect: "C-SSE-1"; "B026"; "Reconnects without `Last-Event-ID`.";
    JsonIdAsCursor: "C-SSE-1"; "B028"; "Takes the `id` in the JSON for the cursor, a delta's too.";
    FirstCursorForEver: "C-SSE-1"; "B026"; "Keeps the first id as its cursor for good.";
    CursorLagsBehind: "C-SSE-1"; "B026"; "Moves the cursor before it stores the id, so it is always one event late.";
    CursorIsSequence: "C-SSE-1"; "B026"; "Sends the event's sequence number as its cursor.";
    CursorBeforeFirstId: "C-SSE-1"; "B026"; "Sends a `Last-Event-ID` of 0 before it has received any.";
    CursorMovesBack: "C-SSE-1"; "B026"; "Lets a replayed event move the cursor back.";
    CursorFromResync: "C-SSE-1", "C-SSE-10"; "B028"; "Takes the JSON id of `stream.resync` for the id to reconnect with.";
    ResyncClearsCursor: "C-SSE-10", "C-SSE-1"; "B026"; "Takes `stream.resync` for an order to begin anew and forgets its cursor.";
    ResyncIsFatal: "C-SSE-10"; "B029"; "Takes `stream.resync` for the end of the stream and gives up.";
    RefusedCursorRepeated: "C-SSE-17"; "B043"; "Sends a cursor that was refused again and again.";
    RefusedCursorForgetsAll: "C-SSE-17", "C-SSE-2"; "B043"; "Forgets all that it knows when its cursor is refused, and acts on the replay anew.";

    // Repeated events.
    ReportsReplays: "C-SSE-2"; "B026"; "Reports an event each time that it is delivered.";
    RemembersLastIdOnly: "C-SSE-2"; "B026"; "Knows only the last id, so of two repeated events one is taken for new.";
    ReportsNewestFirst: "C-SSE-2"; "-"; "Collects the events of a read on a stack and hands them out from its top.";

    // Connecting again.
    NeverReconnects: "C-SSE-1", "C-SSE-12"; "B049"; "Takes a lost connection for a failed run.";
    ReconnectsAtOnce: "C-SSE-11"; "B029"; "Reconnects in a tight loop.";
    ConnectResetsBackoff: "C-SSE-11"; "B029"; "Begins its back-off anew with each connection that is accepted.";
    ConstantBackoff: "C-SSE-11"; "B029"; "Waits equally long however often it failed.";
    PatienceNeverRefilled: "C-SSE-12"; "B030"; "Counts drops over the whole life of a stream and gives up at the tenth.";
    RefusesUnavailableLive: "C-SSE-13"; "-"; "Takes `X-Pantheon-Live-Events: unavailable` for a failure.";
    StopsAtServerError: "C-SSE-15"; "B033"; "Gives up when a connect is answered with 5xx, as browsers do.";
    StopsAtTooManyRequests: "C-SSE-15"; "B033"; "Takes 429 at a connect for final, like every other 4xx.";
    RetriesUnauthorized: "C-SSE-15"; "B034"; "Takes 401, 403 and 404 for passing troubles and goes on trying.";
    ContentTypeUnchecked: "C-SSE-16"; "B019"; "Reads any 200 as an event stream, a login page too.";
    PageEndsRun: "C-SSE-16"; "B019"; "Takes a 200 that is no event stream for the end of the run.";
    LoopsOnNoContent: "C-SSE-16"; "B035"; "Takes 204 for a drop and connects again.";
    NoIdleWatchdog: "C-SSE-18"; "B037"; "Waits for ever on a stream that has gone silent.";
    KeepAlivesDontCount: "C-SSE-19"; "B037"; "Counts only events as signs of life, and calls a stream dead that sends keep-alives.";
    TotalTimeoutOnStream: "C-SSE-19"; "B038"; "Lets the request time-out end a healthy stream.";
    IgnoresRetryField: "C-SSE-20"; "B031"; "Ignores `retry:`.";
    OpensSecondStream: "C-SSE-21"; "B040"; "Has two paths that reconnect, so a second stream is opened and kept.";

    // Text.
    TextFromDeltas: "C-SSE-14", "C-SSE-13"; "B049"; "Builds the final text from the deltas.";
    TextFromDeltasAndMessage: "C-SSE-14"; "B049"; "Adds the durable message to the text that the deltas made.";
    FirstMessageOnly: "C-SSE-14"; "-"; "Takes the first message of a run for its answer.";

    // Runs.
    NewKeyOnStartRetry: "C-RUN-1"; "B074"; "Makes a fresh idempotency key inside the retry loop of a start.";
    StartsWithoutKey: "C-RUN-1"; "B074"; "Repeats a start that timed out without any key.";
    DropRestartsRun: "C-RUN-1"; "B074"; "Sends the message again when the stream drops.";
    FailureRestartsRun: "C-RUN-1"; "-"; "Sends the message again when the run fails.";
    EndOfStreamEndsRun: "C-RUN-2"; "B049"; "Takes a clean end of the stream for the end of the run.";
    IdleEndsRun: "C-RUN-2", "C-TOOL-3"; "-"; "Takes `session.status_idle` for the end of the run.";
    WaitsForEndOfStream: "C-RUN-2"; "-"; "Waits for the stream to end after the run's last event.";
    CancelledTextIsFinal: "C-RUN-2"; "B049"; "Reports what a cancelled run had said as its answer.";
    BusyLoops: "C-RUN-3"; "B063"; "Takes `SESSION_BUSY` for a passing trouble and starts again and again.";
    BusyWithoutRun: "C-RUN-3"; "B063"; "Reports a generic error for `SESSION_BUSY`, without the active run.";
    BusyCancelsUnasked: "C-RUN-3"; "B063"; "Cancels the active run by itself when the session is busy.";
    ComparesRunIdsVerbatim: "C-RUN-4"; "-"; "Compares run ids as text, so one with dashes is another run.";
    AnyTerminalEndsRun: "C-RUN-4", "C-RUN-2"; "B056"; "Takes the last event of any run in the session for the end of its own.";
    MissingRunIdIsOurs: "C-RUN-4"; "-"; "Takes an event without `run_id` for one of its own run.";

    // Executing.
    ExecutesOnEveryIdle: "C-TOOL-1"; "B050"; "Executes a call each time an idle names it.";
    ExecutesOnReplay: "C-TOOL-1", "C-SSE-2"; "B050"; "Acts on a replayed call as on a new one.";
    ForgetsByToolCallId: "C-TOOL-1"; "B052"; "Remembers executions by `tool_call_id`, which a later call may bear again.";
    RemembersByEventId: "C-TOOL-1"; "-"; "Remembers executions by event id instead of `execution_idempotency_key`.";
    ExecutesOnResumeRetry: "C-TOOL-1", "C-TOOL-5"; "B050"; "Has the tool inside the retry loop of the resume.";
    ForgetsExecutionsAtDeath: "C-TOOL-2"; "B050"; "Keeps what it executed in memory alone.";
    RecordsOnlyResults: "C-TOOL-2"; "B050"; "Records an execution when it has ended, so a death during it is forgotten.";
    UncertainIsSilent: "C-TOOL-2"; "B050"; "Never answers a call whose execution a death interrupted.";
    ResumeKeyDiesWithProcess: "C-TOOL-2", "C-TOOL-6"; "B051"; "Makes resume keys by chance and keeps them in memory alone.";
    ForgetsOpenRun: "C-TOOL-2"; "B050"; "Doesn't take up the run that a death left open.";
    ExecutesAtTheCall: "C-TOOL-3", "C-TOOL-13"; "B059"; "Executes and answers when the call comes, before anything requires it.";
    AnswersUnrequiredCalls: "C-TOOL-3"; "B060"; "Answers all calls that it knows when an idle comes, named or not.";
    RepliesToToolStarted: "C-TOOL-4"; "-"; "Sends the id of `tool.started` as the event that it replies to.";
    RepliesToPendingInput: "C-TOOL-4"; "-"; "Sends `pending_input_id` as the event that it replies to.";
    RepliesToToolCall: "C-TOOL-4"; "-"; "Sends `tool_call_id` as the event that it replies to.";
    RepliesToExecutionKey: "C-TOOL-4"; "-"; "Sends `execution_idempotency_key` as the event that it replies to, since they look alike.";
    InputUnchecked: "C-TOOL-19"; "-"; "Hands any input to the tool, whatever its schema says.";
    ChecksCallByCall: "C-TOOL-19"; "-"; "Checks each input just before its own execution, when the others may have run.";
    FirstCallOnly: "C-TOOL-12"; "B060"; "Knows one pending call at most.";
    FailureStopsSiblings: "C-TOOL-12"; "B060"; "Declines the other calls of a pause when one tool fails.";
    RefusalDropsSiblings: "C-TOOL-12"; "B060"; "Abandons the other calls of a pause when the answer of one is refused.";
    ExecutesFromHistory: "C-TOOL-13"; "B050"; "Executes a call that a replay shows, though what follows answers it.";
    ExecutesForeignRuns: "C-TOOL-14"; "B056"; "Executes every call that the session's stream shows, of whichever run.";
    ExecutesAfterCancel: "C-TOOL-14", "C-APP-2"; "B056"; "Goes on with an approval after the run was cancelled, and executes.";
    DiesOfCancel: "C-TOOL-14"; "B056"; "Reports an error when the run is cancelled while its tool works.";
    StopsReadingWhileWorking: "C-APP-2"; "B047"; "Reads no events while a tool or an approval is pending.";

    // Answering.
    GivesUpAfterLostAnswer: "C-TOOL-5"; "B073"; "Sends a resume once and takes a lost answer for a failure.";
    ThreeTries: "C-TOOL-5"; "B073"; "Tries a resume three times only.";
    ConstantWaits: "C-TOOL-5"; "B073"; "Repeats a resume at even, short distances.";
    ServerErrorIsFinal: "C-TOOL-5", "C-ERR-1"; "B071"; "Takes 5xx to a resume for a refusal.";
    TooManyRequestsIsFinal: "C-TOOL-5"; "B075"; "Takes 429 to a resume for a refusal.";
    NoRequestTimeout: "C-TOOL-5"; "-"; "Waits without end for the answer to a resume.";
    NewKeyPerTry: "C-TOOL-6", "C-TOOL-5"; "B073"; "Makes a fresh idempotency key for each try of a resume.";
    BodyChangesPerTry: "C-TOOL-6", "C-TOOL-5"; "B073"; "Puts the number of the try into the body.";
    ShortKeys: "C-TOOL-6"; "-"; "Counts its resume keys: `r1`, `r2`, too short for the server.";
    OneKeyForAllCalls: "C-TOOL-6"; "-"; "Makes the resume key from the run, so two calls share one.";
    SameKeyAfterConflict: "C-TOOL-6"; "B072"; "Repeats a key after `idempotency_conflict`.";
    ErrorUnderSameKey: "C-TOOL-6"; "B072"; "Sends an error under the key of a result whose answer was lost.";
    ExecutesAgainWhenInvalid: "C-TOOL-7", "C-TOOL-1"; "B087"; "Executes the tool again when its result is refused.";
    ResendsInvalidResult: "C-TOOL-7"; "B087"; "Sends a refused result again as it was.";
    InvalidIsFatal: "C-TOOL-7"; "B087"; "Abandons a call whose result was refused.";
    CorrectsForEver: "C-TOOL-7"; "B087"; "Corrects a refused result without any bound.";
    ResolvedIsFatal: "C-TOOL-8"; "B057"; "Takes `event_already_resolved` for a failure of the run.";
    ResolvedExecutesAgain: "C-TOOL-8", "C-TOOL-1"; "B057"; "Executes the tool again when its call is resolved already.";
    ResolvedEndsRun: "C-TOOL-8"; "B057"; "Takes `event_already_resolved` for the end of the run.";
    ExpiredIsRetried: "C-TOOL-9"; "B068"; "Resumes a run again that has expired.";
    ExpiredIsAnError: "C-TOOL-9"; "B068"; "Reports an expired run as any other error.";
    ExpiredStartsNewRun: "C-TOOL-9", "C-RUN-1"; "B068"; "Starts a new run by itself when one has expired.";
    ThrowIsSilent: "C-TOOL-10"; "B066"; "Lets a throwing tool end the conversation, unanswered.";
    DeclineIsSilent: "C-TOOL-10"; "B063"; "Never answers a call that the user declined.";
    LowerCaseErrorCode: "C-TOOL-10"; "-"; "Sends error codes in lower case.";
    ErrorAsContent: "C-TOOL-10"; "-"; "Sends a tool's error as its content.";
    UnknownToolIsFatal: "C-TOOL-11"; "-"; "Gives up when a tool is called that it doesn't have.";
    DropsResultAfterFailure: "C-TOOL-15", "C-TOOL-1"; "B071"; "Throws a result away when it could not be sent, and executes when the call comes again.";
    NewKeyWhenCallReturns: "C-TOOL-15", "C-TOOL-6"; "B073"; "Sends a kept result under another key when the call comes again.";
    InProgressIsFinal: "C-TOOL-16"; "B069"; "Takes `idempotency_in_progress` for a refusal.";
    InProgressNewKey: "C-TOOL-16", "C-TOOL-6"; "B069"; "Sends the result under another key when the first is in progress.";
    AnySuccessAccepts: "C-TOOL-17"; "B019"; "Takes any 2xx to a resume for acceptance.";
    AnySuccessStarts: "C-TOOL-17"; "B019"; "Takes any 2xx to a start for a run, and finds no run id in it.";
    UnsendableIsSilent: "C-TOOL-18"; "B066"; "Says nothing when a result can't be written as JSON.";
    SendsNonObject: "C-TOOL-18"; "B066"; "Sends a result that is no object as it is.";
    AnswersUnknownEvent: "C-TOOL-20"; "B062"; "Answers an event that an idle names and it never saw.";
    BrokenCallIsUnknownTool: "C-TOOL-20"; "-"; "Answers a call whose data it can't read as an unknown tool.";
    OwnClockDeadline: "C-TOOL-21"; "B068"; "Works out the deadline from `created_at` and its own clock.";

    // Data.
    RoundsIntegers: "C-DATA-1"; "-"; "Reads every number as a float of 32 bits.";
    NormalizesText: "C-DATA-1"; "B001"; "Writes text as ASCII, with a question mark for the rest.";
    TrimsText: "C-DATA-1"; "-"; "Trims the strings in inputs and results.";
    DropsNulls: "C-DATA-1"; "-"; "Leaves out members that are null.";
    RewritesKeys: "C-DATA-1"; "-"; "Turns the keys of objects from snake case into camel case.";
    InputAsString: "C-DATA-1"; "-"; "Hands the tool its input as a string of JSON.";

    // Approval.
    NeverAsks: "C-APP-1"; "B054"; "Executes a tool that needs approval without asking.";
    AsksTooLate: "C-APP-1"; "B054"; "Executes first and asks for approval then.";
    YesHoldsForTool: "C-APP-1"; "B054"; "Takes one yes for all later calls of that tool.";
    YesHoldsForCallId: "C-APP-1"; "B054"; "Takes a yes for every later call with that `tool_call_id`.";
    YesActsTwice: "C-APP-1", "C-TOOL-1"; "B064"; "Executes once for each time that the answer is delivered.";
    NoIsYes: "C-APP-1"; "-"; "Takes any answer to an approval for a yes.";

    // HTTP.
    IgnoresRetryAfter: "C-HTTP-1"; "B075"; "Repeats by its own back-off, whatever `Retry-After` says.";
    RetryAfterInMilliseconds: "C-HTTP-1"; "B075"; "Takes the seconds of `Retry-After` for milliseconds.";
    IgnoresRetryAfterDate: "C-HTTP-1"; "B075"; "Reads only seconds from `Retry-After`.";
    RetryAfterByOwnClock: "C-HTTP-1"; "B068"; "Measures the date in `Retry-After` against its own clock instead of `Date`.";
    NonsenseRetryAfterIsFatal: "C-HTTP-1"; "B075"; "Dies of a `Retry-After` that it can't read.";

    // Items.
    RepeatsItems: "C-UI-1"; "-"; "Reports an item with each event of its call.";
    NewItemPerEvent: "C-UI-1"; "-"; "Makes an item for each event, under the event's id.";
    ItemNeverEnds: "C-UI-1"; "-"; "Leaves the item of an ended call running.";

    // Registering tools.
    CreatesWithoutLookUp: "C-REG-1"; "-"; "Creates a tool without looking for its name.";
    TakesFirstListedTool: "C-REG-1"; "-"; "Lists all tools and takes the first for the one that it looked for.";
    ConflictIsFatal: "C-REG-2"; "-"; "Gives up at `idempotency_conflict`.";
    ConflictRenames: "C-REG-2"; "-"; "Creates the tool under another name when its own is taken.";
    VersionWithName: "C-REG-3"; "-"; "Sends the whole tool as a version, its name included.";
    ConfirmationAlways: "C-REG-3"; "-"; "Registers a tool that needs approval with `confirmation: always`.";
    BindsFirstDefinition: "C-REG-4"; "-"; "Binds the definition that the look-up showed instead of the latest.";
    BindsToolId: "C-REG-4"; "-"; "Binds the tool's id where its definition's belongs.";
    NoNewDeployment: "C-REG-4"; "-"; "Adds a version and publishes no deployment.";

    // Errors and secrets.
    JudgesByStatus: "C-ERR-1"; "B072"; "Judges errors by their status alone.";
    JudgesByMessage: "C-ERR-1"; "-"; "Looks for words in an error's message.";
    UnknownCodeIsFatal: "C-ERR-1"; "-"; "Takes a code that it doesn't know for final, whatever the status.";
    FollowsRedirectsWithKey: "C-SEC-1"; "-"; "Follows redirects to other origins with its key.";
    KeyOnEveryCall: "C-SEC-1"; "-"; "Has its key as a default header of its HTTP client, so it goes to the tools, too.";
    PrintsKey: "C-SEC-2"; "-"; "Prints its settings at the start, the key included.";
    PrintsKeyOnError: "C-SEC-2"; "-"; "Prints the request that failed with all its headers.";
}

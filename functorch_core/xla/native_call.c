/* What native_call.py holds as machine code: an XLA FFI handler that runs a list of C calls on a thread of
   their own, without Python. Position-independent, no imports, x86-64 System V. See native_call.py. */
#define MOST_ARRAYS 24

#define MOST_HELPERS 8
#define WORDS 16                                /* of a set of cores */

typedef int Function(void *, void *, void *, void *);
/* Threads with which a library helps one that calls it. */
typedef struct { int core, helpers, helper[MOST_HELPERS]; } Team;
typedef struct { Function *function; void *arguments[4]; } Call;
typedef struct Job Job;
typedef struct {
  int (*wait)(void *), (*post)(void *);         /* sem_wait, sem_post */
  void *free, *start, *done;                    /* semaphores: nobody calls, a job is there, it was run */
  Job *job;
  long status;                                  /* of the first call that failed, or 0 */
  void *home;                                   /* a thread, as it points to itself, that runs its jobs without another */
  int (*getcpu)(void), (*setaffinity)(int, long, void *); /* sched_getcpu, sched_setaffinity */
  Team team[2];                                 /* of the thread that runs jobs, and of the one at home */
  unsigned long cores[WORDS];                   /* that this process may use */
  struct { long size; void *extension; const char *message; int code; } error;
} Desk;
struct Job { Desk *desk; long arrays, calls; void **places; Call call[]; };

/* XLA's structs (jaxlib/include/xla/ffi/api/c_api.h, API 0.3), as far as they are needed. */
typedef struct { long size; void *extension; int dtype; void *data; } Buffer;
typedef struct { long size; void *extension; long n; void *types; Buffer **at; } Buffers;
typedef struct { long size; void *extension; int major, minor; } Version;
typedef struct { long size; Version version; int traits; } Metadata;
typedef struct { long size; int type; void *next; Metadata *metadata; } Extension;
typedef struct { long size; void *extension; Version version; void *internal; void *(*error)(void *); } Api;
typedef struct { long size; Extension *extension; Api *api; void *context; int stage; Buffers args, rets; } Frame;

/* Helpers are kept off the core of the thread that they help: woken there, they would take turns with it. */
static void settle(Desk *desk, Team *team) {
  if (!team->helpers) return;
  int core = desk->getcpu();
  if (core == team->core || core < 0 || core >= 64 * WORDS) return;
  unsigned long others[WORDS];
  for (int i = 0; i < WORDS; i++) others[i] = desk->cores[i];
  others[core / 64] &= ~(1UL << core % 64);
  for (int i = 0; i < team->helpers; i++) desk->setaffinity(team->helper[i], sizeof others, others);
  team->core = core;
}

static void call(Desk *desk, Job *job, Team *team) {
  settle(desk, team);
  desk->status = 0;
  for (long i = 0; i < job->calls && !desk->status; i++) {
    Call *c = &job->call[i];
    desk->status = c->function(c->arguments[0], c->arguments[1], c->arguments[2], c->arguments[3]);
  }
}

static long run(Job *job, void **data) {
  Desk *desk = job->desk;
  void *here;
  __asm__("mov %%fs:0, %0" : "=r"(here));       /* what pthread_self returns */
  while (desk->wait(desk->free));               /* not 0: a signal came */
  for (long i = 0; i < job->arrays; i++) *(void **)job->places[i] = data[i];
  if (here == desk->home) call(desk, job, &desk->team[1]);
  else {
    desk->job = job;
    desk->post(desk->start);
    while (desk->wait(desk->done));
  }
  long status = desk->status;
  desk->post(desk->free);
  return status;
}

__attribute__((section(".text.a"))) void *handle(Frame *frame, Job *job) {
  Extension *extension = frame->extension;
  if (extension && extension->type == 1) {      /* XLA asks for the version of the API */
    extension->metadata->version.major = 0;
    extension->metadata->version.minor = 3;
    extension->metadata->traits = 0;
    return 0;
  }
  void *data[MOST_ARRAYS];
  long n = frame->args.n;
  if (n + frame->rets.n == job->arrays && job->arrays <= MOST_ARRAYS) {
    for (long i = 0; i < n; i++) data[i] = frame->args.at[i]->data;
    for (long i = 0; i < frame->rets.n; i++) data[n + i] = frame->rets.at[i]->data;
    if (!run(job, data)) return 0;
  }
  return frame->api->error(&job->desk->error);
}

__attribute__((section(".text.b"))) long run_job(Job *job, void **data) { return run(job, data); }

__attribute__((section(".text.b"))) void settle_home(Desk *desk) { settle(desk, &desk->team[1]); }

__attribute__((section(".text.c"))) void serve(Desk *desk) { /* the thread */
  for (;;) {
    while (desk->wait(desk->start));
    call(desk, desk->job, &desk->team[0]);
    desk->post(desk->done);
  }
}

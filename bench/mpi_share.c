/* Processor time of each MPI rank inside and outside of MPI, for docs/scaling.md. Waiting for other ranks is inside.
 *
 *   mpicc -O2 -shared -fPIC -o target/mpi_share.so bench/mpi_share.c
 *   mpirun -n 2 -x LD_PRELOAD=target/mpi_share.so standoff attack ...
 *
 * On a machine with other work, clocks on the wall measure that work. The time outside of MPI does not contain it: with N ranks the efficiency
 * without exchange and waiting is the time of one process divided by N times the largest time outside of MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double inside, bytes;
static long calls;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void count(double begun, const int *counts, int ranks)
{
    inside += now() - begun;
    calls++;
    for (int r = 0; r < ranks; r++)
        bytes += 4.0 * counts[r];
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    double begun = now();
    int code = PMPI_Init_thread(argc, argv, required, provided);
    inside += now() - begun;
    return code;
}

int MPI_Allgatherv(const void *own, int n, MPI_Datatype type, void *all, const int counts[], const int starts[], MPI_Datatype as, MPI_Comm world)
{
    int ranks;
    PMPI_Comm_size(world, &ranks);
    double begun = now();
    int code = PMPI_Allgatherv(own, n, type, all, counts, starts, as, world);
    count(begun, counts, ranks);
    return code;
}

int MPI_Alltoallv(const void *own, const int counts[], const int starts[], MPI_Datatype type, void *all, const int received[],
                  const int places[], MPI_Datatype as, MPI_Comm world)
{
    int ranks;
    PMPI_Comm_size(world, &ranks);
    double begun = now();
    int code = PMPI_Alltoallv(own, counts, starts, type, all, received, places, as, world);
    count(begun, received, ranks);
    return code;
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double all = now();
    fprintf(stderr, "rank %d: %.3f s outside of MPI, %.3f s inside, %ld exchanges, %.1f MB received\n", rank, all - inside, inside, calls,
            bytes / 1e6);
    return PMPI_Finalize();
}

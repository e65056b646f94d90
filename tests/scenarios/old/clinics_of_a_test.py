def waiting(policy, seed):
    nurses, share = policy
    return {"north": 40 / nurses + (share - 0.3) ** 2, "south": nurses + (share - 0.7) ** 2}
